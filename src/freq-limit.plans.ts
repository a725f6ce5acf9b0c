import { Inject, Injectable, Logger, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { FreqLimitError } from './core/errors.js';
import { FREQ_LIMIT_RESOLVED_OPTIONS } from './freq-limit.tokens.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import { looksLikeMilliseconds, windowName } from './rules/duration.js';
import { type ClassRef, classLevels, decoratedHandlers, handlerLevel } from './rules/metadata.js';
import { type Level, type Plan, planOf } from './rules/plan.js';
import type { Owner } from './rules/planned-rule.js';

/** A handler's function, as Nest hands it over. */
type Handler = { readonly name: string } & object;

/** A class's plans: of its handlers by their functions, and of handlers it was not known to have. */
interface ClassPlans {
  readonly classRef: ClassRef;
  readonly identity: string;
  readonly byHandler: WeakMap<Handler, Plan | typeof NO_PLAN>;
}

const NO_PLAN = Symbol('no plan');

/** Knows the plan of every handler. All are made, and all declarations checked, when the application starts. */
@Injectable()
export class FreqLimitPlans {
  private readonly logger = new Logger('FreqLimit');
  private readonly classes = new Map<unknown, ClassPlans>();
  private readonly identities = new Map<string, number>();
  private readonly appLevel: Level;

  constructor(
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
  ) {
    const rules = options.rules.map((rule, i) => ({
      rule,
      level: 'app' as const,
      place: `rules[${i}] of FreqLimitModule`,
    }));
    this.appLevel = { rules, skip: undefined };
  }

  /**
   * Finds all classes of the application that rules apply to, and plans their handlers.
   * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` with a line for every wrong declaration
   */
  compile(): void {
    const problems = new Set<string>();
    const attempt = (plan: () => unknown): void => {
      try {
        plan();
      } catch (error) {
        if (!(error instanceof FreqLimitError)) throw error;
        problems.add(error.message);
      }
    };
    // the module's own rules are checked even where no handler would meet them
    attempt(() =>
      planOf([this.appLevel], { className: '', classIdentity: '', handler: undefined }, this.options),
    );
    for (const { classRef, moduleName } of this.limitedClasses()) {
      const plans = this.register(classRef, moduleName);
      attempt(() => planOf(this.levelsOfClass(classRef), this.ownerOf(plans, undefined), this.options));
      for (const handler of decoratedHandlers(classRef)) {
        attempt(() => this.planHandler(plans, handler));
        this.warnOfUnreachable(classRef, handler);
      }
    }
    if (problems.size > 0) throw new FreqLimitError('FREQ_LIMIT_INVALID_RULE', [...problems].join('\n'));
    this.warnOfBareMilliseconds();
  }

  /** The plan of a handler; `undefined` where no rule applies to it. */
  of(classRef: ClassRef, handler: Handler): Plan | undefined {
    const plans = this.classes.get(classRef) ?? this.register(classRef, '');
    const known = plans.byHandler.get(handler) ?? this.planUnknown(plans, handler);
    return known === NO_PLAN ? undefined : known;
  }

  /** The plan by which `reset` and its like name a guard's counters; without a class, the module's rules alone. */
  named(classRef: Type | undefined, handler: string | undefined): Plan | undefined {
    if (classRef === undefined) {
      return planOf([this.appLevel], { className: '', classIdentity: '', handler: undefined }, this.options);
    }
    const plans = this.classes.get(classRef) ?? this.register(classRef, '');
    if (handler !== undefined) return this.planHandler(plans, handler);
    return planOf(this.levelsOfClass(classRef), this.ownerOf(plans, undefined), this.options);
  }

  private planHandler(plans: ClassPlans, handler: string): Plan | undefined {
    const levels = [...this.levelsOfClass(plans.classRef), handlerLevel(plans.classRef, handler)];
    const plan = planOf(levels, this.ownerOf(plans, handler), this.options);
    const implementation = (plans.classRef.prototype as Record<string, unknown>)[handler];
    if (typeof implementation === 'function') plans.byHandler.set(implementation, plan ?? NO_PLAN);
    return plan;
  }

  /**
   * A handler that was not planned at start-up: one without a decorator of ours, one of a class that came later, or
   * one bound or wrapped by its class. By its name it is still the method it was made of.
   */
  private planUnknown(plans: ClassPlans, handler: Handler): Plan | typeof NO_PLAN {
    const plan = this.planHandler(plans, handler.name.replace(/^bound /, '')) ?? NO_PLAN;
    plans.byHandler.set(handler, plan);
    return plan;
  }

  private levelsOfClass(classRef: ClassRef): Level[] {
    return [this.appLevel, ...classLevels(classRef)];
  }

  private ownerOf({ classRef, identity }: ClassPlans, handler: string | undefined): Owner {
    return { className: classRef.name, classIdentity: identity, handler };
  }

  private register(classRef: ClassRef, moduleName: string): ClassPlans {
    const known = this.classes.get(classRef);
    if (known !== undefined) return known;
    const plans = { classRef, identity: this.identify(classRef, moduleName), byHandler: new WeakMap() };
    this.classes.set(classRef, plans);
    return plans;
  }

  /**
   * Tells a class from every other one, by facts that are the same in every process of the application: its name,
   * its module and its route. Two classes that share all of these are told apart by the order Nest knows them in.
   */
  private identify(classRef: ClassRef, moduleName: string): string {
    const route = ['path', 'host', '__version__'].map(
      (key): unknown => Reflect.getMetadata(key, classRef) ?? null,
    );
    const identity = JSON.stringify([classRef.name, moduleName, ...route.map(String)]);
    const sameBefore = this.identities.get(identity) ?? 0;
    this.identities.set(identity, sameBefore + 1);
    return sameBefore === 0 ? identity : `${identity}#${sameBefore + 1}`;
  }

  private limitedClasses(): { classRef: ClassRef; moduleName: string }[] {
    const modulesOf = new Map<ClassRef, Set<string>>();
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      const classRef: unknown = wrapper.metatype;
      if (wrapper.isNotMetatype || !isClass(classRef)) continue;
      const modules = modulesOf.get(classRef) ?? new Set();
      modulesOf.set(classRef, modules.add(wrapper.host?.metatype.name ?? ''));
    }
    return [...modulesOf].map(([classRef, modules]) => ({
      classRef,
      moduleName: [...modules].sort().join(),
    }));
  }

  /** A guard stands only before what Nest calls from outside, and what is called so carries a decorator that says so. */
  private warnOfUnreachable(classRef: ClassRef, handler: string): void {
    const implementation: unknown = (classRef.prototype as Record<string, unknown>)[handler];
    if (typeof implementation === 'function' && Reflect.getMetadataKeys(implementation).length > 0) return;
    this.logger.warn(
      `${classRef.name}.${handler} has a limit, but no decorator of Nest makes it a handler: no guard ever stands before it.`,
    );
  }

  private warnOfBareMilliseconds(): void {
    const levels = [
      this.appLevel,
      ...[...this.classes.values()].flatMap(({ classRef }) => declaredLevels(classRef)),
    ];
    for (const { rule, place } of levels.flatMap((level) => level.rules)) {
      if (!looksLikeMilliseconds(rule.window)) continue;
      this.logger.warn(
        `${place}: window: a bare number is seconds, so ${rule.window} is ${windowName(rule.window * 1_000)}. ` +
          `If that is meant, write '${windowName(rule.window * 1_000)}'.`,
      );
    }
  }
}

function declaredLevels(classRef: ClassRef): Level[] {
  return [
    ...classLevels(classRef),
    ...decoratedHandlers(classRef).map((handler) => handlerLevel(classRef, handler)),
  ];
}

function isClass(value: unknown): value is ClassRef {
  return typeof value === 'function' && typeof value.prototype === 'object';
}
