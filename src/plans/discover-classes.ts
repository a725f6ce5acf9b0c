import type { DiscoveryService } from '@nestjs/core';
import 'reflect-metadata';
import { stableNameOf } from './class-identity.js';
import { methodAt, methodNames } from '../rules/handler-places.js';
import type { ClassRef } from '../rules/metadata.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/**
 * Decides what Nest looks for in a class: routes and message patterns in controllers, gateways and resolvers in providers.
 * For providers made by a factory or given as a value (`made`) Nest knows no class, and looks only for resolvers.
 */
type ClassRole = 'controller' | 'provider' | 'made';

/** A class of the application. */
export interface AppClass {
  readonly classRef: ClassRef;
  /** The names of the modules that have it, sorted, so that they are the same in every process. */
  readonly moduleName: string;
  /** Those tokens that it is provided under that are strings. */
  readonly tokens: readonly string[];
  /** Its only instance; `undefined` if each request gets a new one. */
  readonly instance: unknown;
  readonly roles: ReadonlySet<ClassRole>;
}

/** The controllers and providers that Nest knows by their class. These are known before the first is instantiated. */
export function declaredClasses(discovery: DiscoveryService): AppClass[] {
  return distinct([
    ...classesOf(discovery.getControllers(), 'controller', metatypeOf),
    ...classesOf(discovery.getProviders(), 'provider', metatypeOf),
  ]);
}

/** The same, plus the classes of instances that factories have made or that are given as values. */
export function allClasses(discovery: DiscoveryService): AppClass[] {
  return distinct([
    ...declaredClasses(discovery),
    ...classesOf(discovery.getProviders(), 'made', classOfInstance).filter(({ classRef }) =>
      hasMetadata(classRef),
    ),
  ]);
}

function classesOf(
  wrappers: readonly Wrapper[],
  role: ClassRole,
  classOf: (wrapper: Wrapper) => ClassRef | undefined,
): AppClass[] {
  return wrappers.flatMap((wrapper) => {
    const classRef = classOf(wrapper);
    if (classRef === undefined) return [];
    const instance: unknown = wrapper.isDependencyTreeStatic() ? wrapper.instance : undefined;
    const moduleName = wrapper.host === undefined ? '' : stableNameOf(wrapper.host.metatype as ClassRef);
    const tokens = typeof wrapper.token === 'string' ? [wrapper.token] : [];
    return [{ classRef, moduleName, tokens, instance, roles: new Set([role]) }];
  });
}

/** A class may be in several modules, and have both roles. */
function distinct(classes: readonly AppClass[]): AppClass[] {
  const found = new Map<ClassRef, AppClass[]>();
  for (const one of classes) found.set(one.classRef, [...(found.get(one.classRef) ?? []), one]);
  return [...found].map(([classRef, same]) => ({
    classRef,
    moduleName: [...new Set(same.map(({ moduleName }) => moduleName))].sort().join(),
    tokens: [...new Set(same.flatMap(({ tokens }) => tokens))],
    instance: same[0]?.instance,
    roles: new Set(same.flatMap(({ roles }) => [...roles])),
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
