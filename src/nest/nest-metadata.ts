import 'reflect-metadata';
import { FREQ_LIMIT_GUARD } from '../core/tokens.js';

/** Where Nest's `@UseGuards` keeps what it says. */
const GUARDS = '__guards__';

/** Where Nest keeps what `@UseInterceptors` says of a handler. */
const INTERCEPTORS = '__interceptors__';

/** Where Nest keeps what a class injects: into its constructor, by type and by token, and into its properties. */
const TYPES = 'design:paramtypes';
const TOKENS = 'self:paramtypes';
const PROPERTIES = 'self:properties_metadata';

/** What `@UseGuards` puts before a handler: its class's guards, then its own. */
export function guardsOn(classRef: object, method: object): readonly unknown[] {
  return [classRef, method].flatMap((place) => read(GUARDS, place));
}

/** Whether a guard is of our classes, of their subclasses, or made by them; also those of another copy of this package. */
export function isOurs(guard: unknown): boolean {
  const classRef = classOf(guard);
  return typeof classRef === 'function' && FREQ_LIMIT_GUARD in classRef;
}

/** Whether a guard's class injects ours, so that it may ask it. */
export function injectsOurs(guard: unknown): boolean {
  const classRef = classOf(guard);
  if (typeof classRef !== 'function') return false;
  const types = read(TYPES, classRef);
  const tokens = read(TOKENS, classRef).map((one) => (Object(one) as { param?: unknown }).param);
  const properties = read(PROPERTIES, classRef).map((one) => (Object(one) as { type?: unknown }).type);
  return [...types, ...tokens, ...properties].some(isOurs);
}

/** Whether limits are held where this guard is: it is ours, or one that asks ours. */
export function holdsLimits(guard: unknown): boolean {
  return isOurs(guard) || injectsOurs(guard);
}

/** The interceptors declared for a handler itself, by `@UseInterceptors`. */
export function interceptorsOf(method: object): readonly unknown[] {
  return read(INTERCEPTORS, method);
}

/** Declares an interceptor around all others of a handler. It must be done before Nest reads the handler. */
export function addInterceptor(method: object, interceptor: unknown): void {
  Reflect.defineMetadata(INTERCEPTORS, [interceptor, ...interceptorsOf(method)], method);
}

function classOf(guard: unknown): unknown {
  return typeof guard === 'function' ? guard : (Object(guard) as object).constructor;
}

function read(key: string, place: object): readonly unknown[] {
  return (Reflect.getMetadata(key, place) ?? []) as readonly unknown[];
}
