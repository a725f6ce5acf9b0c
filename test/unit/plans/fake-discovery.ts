import type { DiscoveryService } from '@nestjs/core';
import { ClassRegistry } from '../../../src/plans/class-registry.js';
import { knownClasses } from '../../../src/plans/discover-classes.js';
import type { PlanOptions } from '../../../src/plans/plan-options.js';
import { Planner } from '../../../src/plans/planner.js';
import { FreqLimitPlans } from '../../../src/plans/plans.js';
import { DEFAULTS } from '../fixtures.js';

class AppModule {}

/** A provider as Nest stores it: a class, or what a factory has made. */
export interface FakeWrapper {
  readonly metatype?: unknown;
  readonly instance?: unknown;
  readonly token?: unknown;
  readonly isNotMetatype?: boolean;
  readonly isAlias?: boolean;
  readonly isStatic?: boolean;
  readonly host?: { readonly metatype: unknown };
}

/** The part of Nest's `DiscoveryService` that plans use. */
export function fakeDiscovery({
  controllers = [],
  providers = [],
}: {
  readonly controllers?: readonly FakeWrapper[];
  readonly providers?: readonly FakeWrapper[];
}): DiscoveryService {
  const wrappers = (all: readonly FakeWrapper[]): object[] =>
    all.map(({ isStatic = true, ...rest }) => ({
      token: rest.metatype,
      isNotMetatype: false,
      isAlias: false,
      host: { metatype: AppModule },
      ...rest,
      isDependencyTreeStatic: () => isStatic,
    }));
  return {
    getControllers: () => wrappers(controllers),
    getProviders: () => wrappers(providers),
  } as unknown as DiscoveryService;
}

/** A class whose instance Nest has made. */
export function ofClass(metatype: new () => object, parts: FakeWrapper = {}): FakeWrapper {
  return { metatype, instance: new metatype(), ...parts };
}

/** What a factory has made. */
export function ofFactory(instance: unknown, parts: FakeWrapper = {}): FakeWrapper {
  return { metatype: () => instance, isNotMetatype: true, instance, token: 'made', ...parts };
}

const OPTIONS: PlanOptions = { ...DEFAULTS, rules: [], namedRules: {}, contextAdapters: {} };

/** Plans of these classes, as at start-up. */
export function plansOf(
  parts: Parameters<typeof fakeDiscovery>[0],
  options: Partial<PlanOptions> = {},
): FreqLimitPlans {
  return new FreqLimitPlans({ ...OPTIONS, ...options }, fakeDiscovery(parts));
}

/** A registry of these controllers. */
export function registryOf(...classes: (new () => object)[]): ClassRegistry {
  const registry = new ClassRegistry(new Planner(OPTIONS));
  registry.add(knownClasses(fakeDiscovery({ controllers: classes.map((one) => ofClass(one)) })));
  return registry;
}
