import type { DiscoveryService } from '@nestjs/core';
import 'reflect-metadata';
import type { ClassRef } from '../rules/class-ref.js';
import { methodAt, methodNames } from '../rules/methods.js';
import { stableNameOf } from './class-identity.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/**
 * What Nest looks for in a class: routes and message patterns in controllers, gateways and resolvers in providers. Of an
 * `instance` that a factory has made or that is given as a value, Nest does not know the class, and looks only for resolvers.
 */
type ClassRole = 'controller' | 'provider' | 'instance';

/** A class of the application. */
export interface AppClass {
  readonly classRef: ClassRef;
  /** The names of the modules that have it, sorted, so that they are the same in every process. */
  readonly moduleName: string;
  /** The tokens that it is provided under and that are strings. */
  readonly tokens: readonly string[];
  readonly roles: ReadonlySet<ClassRole>;
  /** Its only instance; `undefined` if each request gets a new one. Call it when everything is instantiated. */
  readonly instance: () => unknown;
}

/** The controllers and providers whose class Nest knows before the first of them is instantiated. */
export function knownClasses(discovery: DiscoveryService): AppClass[] {
  return distinct([
    ...classesOf(discovery.getControllers(), 'controller', metatypeOf),
    ...classesOf(discovery.getProviders(), 'provider', metatypeOf),
  ]);
}

/** The classes of instances that factories have made or that are given as values. Call it when everything is instantiated. */
export function classesOfInstances(discovery: DiscoveryService): AppClass[] {
  const found = classesOf(discovery.getProviders(), 'instance', classOfInstance);
  return distinct(found.filter(({ classRef }) => hasMetadata(classRef)));
}

function classesOf(
  wrappers: readonly Wrapper[],
  role: ClassRole,
  classOf: (wrapper: Wrapper) => ClassRef | undefined,
): AppClass[] {
  return wrappers.flatMap((wrapper) => {
    const classRef = classOf(wrapper);
    if (classRef === undefined) return [];
    const moduleName = wrapper.host === undefined ? '' : stableNameOf(wrapper.host.metatype as ClassRef);
    const tokens = typeof wrapper.token === 'string' ? [wrapper.token] : [];
    const instance = (): unknown => (wrapper.isDependencyTreeStatic() ? wrapper.instance : undefined);
    return [{ classRef, moduleName, tokens, roles: new Set([role]), instance }];
  });
}

/** A class may be in several modules, and have several roles. */
function distinct(classes: readonly AppClass[]): AppClass[] {
  const found = new Map<ClassRef, [AppClass, ...AppClass[]]>();
  for (const one of classes) {
    const same = found.get(one.classRef);
    if (same === undefined) found.set(one.classRef, [one]);
    else same.push(one);
  }
  return [...found.values()].map((same) => ({
    classRef: same[0].classRef,
    moduleName: [...new Set(same.map(({ moduleName }) => moduleName))].sort().join(),
    tokens: [...new Set(same.flatMap(({ tokens }) => tokens))],
    roles: new Set(same.flatMap(({ roles }) => [...roles])),
    instance: same[0].instance,
  }));
}

function metatypeOf({ metatype, isNotMetatype }: Wrapper): ClassRef | undefined {
  return !isNotMetatype && isClass(metatype) ? metatype : undefined;
}

function classOfInstance({ isNotMetatype, isAlias, instance }: Wrapper): ClassRef | undefined {
  if (!isNotMetatype || isAlias || typeof instance !== 'object' || instance === null) return undefined;
  try {
    const prototype = Object.getPrototypeOf(instance) as object | null;
    if (prototype === null || prototype === Object.prototype) return undefined;
    const classRef: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    return isClass(classRef) && classRef.prototype === prototype ? classRef : undefined;
  } catch {
    // a proxy may return or throw anything
    return undefined;
  }
}

/** Whether a class or a method has metadata. Most instances from factories are of other packages and have none. */
function hasMetadata(classRef: ClassRef): boolean {
  const prototype = classRef.prototype as object;
  const hasKeys = (target: object): boolean => Reflect.getMetadataKeys(target).length > 0;
  return (
    hasKeys(classRef) ||
    hasKeys(prototype) ||
    methodNames(prototype).some((name) => hasKeys(methodAt(prototype, name) ?? {}))
  );
}

function isClass(value: unknown): value is ClassRef {
  return typeof value === 'function' && typeof value.prototype === 'object';
}
