import type { DiscoveryService } from '@nestjs/core';
import 'reflect-metadata';
import { stableNameOf } from './rules/class-identity.js';
import { methodAt, methodNames } from './rules/handler-places.js';
import type { ClassRef } from './rules/metadata.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/**
 * What Nest looks for in a class: routes and message patterns in controllers, gateways and resolvers in providers. Of what
 * a factory or a value provides Nest knows no class, and looks for resolvers alone.
 */
type ClassRole = 'controller' | 'provider' | 'made';

/** A class of the application. */
export interface AppClass {
  readonly classRef: ClassRef;
  /** The modules that have it, in an order that is the same in every process. */
  readonly moduleName: string;
  /** The tokens that it is provided under, those that are texts. */
  readonly tokens: readonly string[];
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

/** The same, and the classes of instances that factories have made or that are given as values. */
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
    // a proxy may show what it likes
    return undefined;
  }
}

/** Whether a decorator says anything of a class or of its methods: what factories make is most often of other packages. */
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
