import { classFactsOf, controllerRouteOf, methodFactsOf } from '../nest/nest-metadata.js';
import { methodAt, methodNames } from '../rules/methods.js';
import type { ClassRef } from '../rules/class-ref.js';

/** Matches names made by Nest's `mixin()`, which differ in each process, and those with a UUID, a hash or the time. */
const MADE_AT_RUN_TIME =
  /^[0-9a-f]{21}$|[0-9a-f]{16}|\d{10}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Where a class is in the application. */
export interface ClassPlace {
  /** The names of the modules that have the class. */
  readonly moduleName: string;
  /** The tokens that it is provided under and that are strings. */
  readonly tokens: readonly string[];
}

/** The identity of a class: the same in every process of the application. */
export interface ClassIdentity {
  readonly text: string;
  /** All that is known of the class. If several classes have the same facts, their order tells them apart. */
  readonly facts: string;
  /** A name for people who read keys in Redis. */
  readonly label: string;
}

/**
 * Gives each class an identity made of its name and its parents' names, its module and its route. A name that was made
 * at run time is not used: the class is then told apart by its tokens and its handlers.
 */
export class ClassIdentities {
  private readonly seen = new Map<string, number>();

  identify(classRef: ClassRef, { moduleName, tokens }: ClassPlace): ClassIdentity {
    const names = stableNamesOf(classRef);
    const facts = JSON.stringify([
      names,
      moduleName,
      ...controllerRouteOf(classRef).map(routeText),
      ...(isMadeAtRunTime(classRef.name) ? [[...tokens].sort(), handlerFacts(classRef)] : []),
    ]);
    const before = this.seen.get(facts) ?? 0;
    this.seen.set(facts, before + 1);
    const text = before === 0 ? facts : `${facts}#${before + 1}`;
    return { text, facts, label: names.find((name) => name !== '') ?? 'Mixin' };
  }
}

/** Whether a class name was made at run time, so that it differs in each process. */
export function isMadeAtRunTime(name: string): boolean {
  return MADE_AT_RUN_TIME.test(name);
}

/** The name of a class. If that was made at run time, the name of its nearest parent with a name from the code. */
export function stableNameOf(classRef: ClassRef): string {
  return stableNamesOf(classRef)[0] ?? '';
}

/** The names of a class and its parents, without those made at run time. */
function stableNamesOf(classRef: ClassRef): string[] {
  const names: string[] = [];
  for (
    let at: unknown = classRef;
    typeof at === 'function' && at !== Function.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    if (!isMadeAtRunTime(at.name)) names.push(at.name);
  }
  return names;
}

/** A path, host or version: one or several, and a version may be a symbol. */
function routeText(part: unknown): string[] {
  return [part].flat().map(String);
}

function handlerFacts(classRef: ClassRef): unknown[] {
  const prototype = classRef.prototype as object;
  const handlers = methodNames(prototype)
    .sort()
    .map((name) => [name, ...methodFactsOf(methodAt(prototype, name) ?? {}).map(textOf)]);
  return [...classFactsOf(classRef).map(textOf), handlers];
}

/** The same string in every process; empty for a value that cannot be written as one. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify([value], (_, part: unknown) => (isWrittenAsString(part) ? String(part) : part));
  } catch {
    return '';
  }
}

function isWrittenAsString(value: unknown): boolean {
  return ['function', 'symbol', 'bigint'].includes(typeof value) || value instanceof RegExp;
}
