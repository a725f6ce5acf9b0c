import type { DiscoveryService } from '@nestjs/core';
import type { ClassRef } from './rules/metadata.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** What Nest looks for in a class: routes and message patterns in controllers, gateways and resolvers in providers. */
export type ClassRole = 'controller' | 'provider';

/** A class of the application. */
export interface AppClass {
  readonly classRef: ClassRef;
  /** The modules that have it, in an order that is the same in every process. */
  readonly moduleName: string;
  /** Its one instance; `undefined` where there is another for each request. */
  readonly instance: unknown;
  readonly roles: ReadonlySet<ClassRole>;
}

/** The controllers and providers that Nest knows by their class: all are known before the first is instantiated. */
export function declaredClasses(discovery: DiscoveryService): AppClass[] {
  return distinct([
    ...classesOf(discovery.getControllers(), 'controller', metatypeOf),
    ...classesOf(discovery.getProviders(), 'provider', metatypeOf),
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
    const moduleName = wrapper.host?.metatype.name ?? '';
    return [{ classRef, moduleName, instance, roles: new Set([role]) }];
  });
}

/** A class may be in several modules, and have both roles. */
function distinct(classes: readonly AppClass[]): AppClass[] {
  const found = new Map<ClassRef, AppClass[]>();
  for (const one of classes) found.set(one.classRef, [...(found.get(one.classRef) ?? []), one]);
  return [...found].map(([classRef, same]) => ({
    classRef,
    moduleName: [...new Set(same.map(({ moduleName }) => moduleName))].sort().join(),
    instance: same[0]?.instance,
    roles: new Set(same.flatMap(({ roles }) => [...roles])),
  }));
}

function metatypeOf({ metatype, isNotMetatype }: Wrapper): ClassRef | undefined {
  return !isNotMetatype && isClass(metatype) ? metatype : undefined;
}

function isClass(value: unknown): value is ClassRef {
  return typeof value === 'function' && typeof value.prototype === 'object';
}
