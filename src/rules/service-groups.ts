import { keyPrefix, ruleId, windowPart } from '../core/counter-key.js';
import type { CounterType } from './planned-rule.js';
import type { Algorithm } from './rule.js';
import { lengthKind } from './rule-counters.js';

/** What the checks with one name, one window and one algorithm have in common. */
export interface ServiceGroup {
  readonly windowMs: number;
  /** The start of the keys of their counters. */
  readonly prefix: string;
  /** The same for a check. A token bucket has another `kind` for each burst. */
  readonly counter: CounterType;
}

/** A name in use. */
interface KnownName {
  readonly id: string;
  /** By the window as the caller writes it. */
  readonly groups: Map<unknown, ServiceGroup>;
}

/** Bounds the memory, if an application makes up names or windows. */
const MAX_GROUPS = 1_000;

/** The id of the counters of the checks with a name. */
export function serviceId(name: string | undefined): string {
  return ruleId(name === undefined ? 'service' : `service.${name}`, ['service', name]);
}

/**
 * The groups of the counters of `FreqLimitService` with one algorithm. Cached: a new one takes a hash, and an application uses
 * few names and windows. Only valid names and windows are in it, so a known group needs no validation.
 */
export class ServiceGroups {
  private readonly names = new Map<unknown, KnownName>();
  private size = 0;

  /** @param onNewName called with the window of the first check with a name */
  constructor(
    private readonly namespace: string,
    private readonly onNewName: (window: unknown) => void,
    private readonly algorithm: Algorithm = 'fixed-window',
  ) {}

  /** The group of a name and a window, if it is known. */
  find(name: unknown, window: unknown): ServiceGroup | undefined {
    return this.names.get(name)?.groups.get(window);
  }

  /** Adds the group of a valid name and a valid window. */
  add(name: string | undefined, window: unknown, windowMs: number): ServiceGroup {
    if (this.size >= MAX_GROUPS) this.clear();
    const { id, groups } = this.names.get(name) ?? this.addName(name, window);
    const prefix = keyPrefix(this.namespace, id, windowPart(this.algorithm, windowMs));
    const counter = { group: prefix, windowMs, kind: lengthKind(this.algorithm, 0) };
    const group = { windowMs, prefix, counter };
    groups.set(window, group);
    this.size++;
    return group;
  }

  private addName(name: string | undefined, window: unknown): KnownName {
    this.onNewName(window);
    const known = { id: serviceId(name), groups: new Map<unknown, ServiceGroup>() };
    this.names.set(name, known);
    return known;
  }

  private clear(): void {
    this.names.clear();
    this.size = 0;
  }
}
