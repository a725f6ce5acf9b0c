import { keyPrefix, ruleId } from '../core/counter-key.js';

/** What the checks with one name and one window have in common. */
export interface ServiceGroup {
  readonly windowMs: number;
  /** The start of the keys of their counters. */
  readonly prefix: string;
}

/** A name in use. */
interface KnownName {
  readonly id: string;
  /** By the window as the caller writes it. */
  readonly groups: Map<unknown, ServiceGroup>;
}

/** Bounds the memory, if an application makes up names or windows. */
const MAX_GROUPS = 1_000;

/**
 * The groups of the counters of `FreqLimitService`. Cached: a new one takes a hash, and an application uses few names and
 * windows. Only valid names and windows are in it, so a known group needs no validation.
 */
export class ServiceGroups {
  private readonly names = new Map<unknown, KnownName>();
  private size = 0;

  /** @param onNewName called with the window of the first check with a name */
  constructor(
    private readonly namespace: string,
    private readonly onNewName: (window: unknown) => void,
  ) {}

  /** The group of a name and a window, if it is known. */
  find(name: unknown, window: unknown): ServiceGroup | undefined {
    return this.names.get(name)?.groups.get(window);
  }

  /** Adds the group of a valid name and a valid window. */
  add(name: string | undefined, window: unknown, windowMs: number): ServiceGroup {
    if (this.size >= MAX_GROUPS) this.clear();
    const { id, groups } = this.names.get(name) ?? this.addName(name, window);
    const group = { windowMs, prefix: keyPrefix(this.namespace, id, windowMs) };
    groups.set(window, group);
    this.size++;
    return group;
  }

  private addName(name: string | undefined, window: unknown): KnownName {
    this.onNewName(window);
    const id = ruleId(name === undefined ? 'service' : `service.${name}`, ['service', name]);
    const known = { id, groups: new Map<unknown, ServiceGroup>() };
    this.names.set(name, known);
    return known;
  }

  private clear(): void {
    this.names.clear();
    this.size = 0;
  }
}
