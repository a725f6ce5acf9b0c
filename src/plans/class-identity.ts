import 'reflect-metadata';
import { methodAt, methodNames } from '../rules/handler-places.js';
import type { ClassRef } from '../rules/metadata.js';

/** What Nest keeps on a controller of its route. */
const ROUTE_METADATA = ['path', 'host', '__version__'];

// What Nest keeps on classes and on methods that tells one handler from another: routes, patterns, messages, the names of
// operations. No two of an application are alike in all of it and in their class.
const CLASS_METADATA = ['websockets:gateway_options', 'websockets:port', 'graphql:resolver_name'];
const HANDLER_METADATA = [
  'path',
  'method',
  'microservices:pattern',
  'message',
  'graphql:resolver_type',
  'graphql:resolver_name',
];

/** Nest's `mixin()` names classes so, and each process names them differently; others take UUIDs, or the time. */
const MADE_AT_RUN_TIME =
  /^[0-9a-f]{21}$|[0-9a-f]{16}|\d{10}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** What identities are made of in addition to the class. */
export interface ClassPlace {
  /** The modules that have the class. */
  readonly moduleName: string;
  /** The tokens that it is provided under, those that are texts. */
  readonly tokens: readonly string[];
}

/** A class's identity, the same in every process of the application. */
export interface ClassIdentity {
  readonly text: string;
  /** All that is known of the class. Where that is the same of several, their order makes the difference. */
  readonly facts: string;
  /** A name for people who look into Redis. */
  readonly label: string;
}

/**
 * Tells each class from every other one, by facts that are the same in every process of the application: its name and
 * those of its parents, its module and its route. A name that is made at run time is none; then all that Nest knows of the
 * class's handlers tells it from others.
 */
export class ClassIdentities {
  private readonly seen = new Map<string, number>();

  identify(classRef: ClassRef, { moduleName, tokens }: ClassPlace): ClassIdentity {
    const names = lineageOf(classRef);
    const facts = JSON.stringify([
      names,
      moduleName,
      ...ROUTE_METADATA.map((key) => routeText(key, classRef)),
      ...(isMadeAtRunTime(classRef.name) ? [[...tokens].sort(), handlerFacts(classRef)] : []),
    ]);
    const before = this.seen.get(facts) ?? 0;
    this.seen.set(facts, before + 1);
    const text = before === 0 ? facts : `${facts}#${before + 1}`;
    return { text, facts, label: names.find((name) => name !== '') ?? 'Mixin' };
  }
}

/** Whether a class has another name in each process. */
export function isMadeAtRunTime(name: string): boolean {
  return MADE_AT_RUN_TIME.test(name);
}

/** The name of a class, or of the nearest parent whose name is written in the code. */
export function stableNameOf(classRef: ClassRef): string {
  return lineageOf(classRef)[0] ?? '';
}

/** The names of a class and of its parents that are written in the code. */
function lineageOf(classRef: ClassRef): string[] {
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

/** A route has one path, host and version or several, and a version may be a symbol. */
function routeText(key: string, classRef: ClassRef): string[] {
  return [Reflect.getMetadata(key, classRef) as unknown].flat().map(String);
}

function handlerFacts(classRef: ClassRef): unknown[] {
  const prototype = classRef.prototype as object;
  const handlers = methodNames(prototype)
    .sort()
    .map((name) => [name, ...factsOf(methodAt(prototype, name) ?? {}, HANDLER_METADATA)]);
  return [...factsOf(classRef, CLASS_METADATA), handlers];
}

function factsOf(target: object, keys: readonly string[]): string[] {
  return keys.map((key) => textOf(Reflect.getMetadata(key, target)));
}

/** The same text in every process; what has none is left out. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify([value], (_, part: unknown) => (isScalar(part) ? String(part) : part));
  } catch {
    return '';
  }
}

function isScalar(value: unknown): boolean {
  return ['function', 'symbol', 'bigint'].includes(typeof value) || value instanceof RegExp;
}
