import { Inject, Injectable, Logger } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { FreqLimitError, formatForLog, invalidRule } from '../core/errors.js';
import { allClasses, type AppClass, declaredClasses } from './discover-classes.js';
import { type HandlerKind, HandlerKinds } from './handler-kinds.js';
import type { ResolvedOptions } from '../freq-limit.options.js';
import { FREQ_LIMIT_RESOLVED_OPTIONS } from '../core/tokens.js';
import { rulesWithoutEffect } from '../warnings/rules-without-effect.js';
import { ClassIdentities, type ClassIdentity, isMadeAtRunTime } from './class-identity.js';
import { looksLikeMilliseconds, windowName } from '../rules/window.js';
import {
  hasOtherMetadata,
  markedNames,
  methodAt,
  methodNames,
  namesOfMethod,
} from '../rules/handler-places.js';
import {
  type ClassRef,
  classLevels,
  constructorOf,
  contradictionOf,
  decoratedHandlers,
  handlerLevels,
  traitsOf,
} from '../rules/metadata.js';
import { NamedRuleSet } from '../rules/named-rules.js';
import { type HandlerTraits, type Level, type Plan, planOf } from '../rules/plan.js';
import { type Owner, type PlannedRule } from '../rules/planned-rule.js';
import type { FreqLimitRule } from '../rules/rule.js';

/** A handler's function, as Nest hands it over. */
type Handler = { readonly name: string } & object;

/** A class of the application, and the plans of its handlers as they become known. */
interface ClassPlans {
  readonly classRef: ClassRef;
  readonly identity: ClassIdentity;
  /** As Nest holds it; `undefined` where the class came later. */
  appClass: AppClass | undefined;
  readonly byName: Map<string, Plan | undefined>;
  readonly byFunction: WeakMap<Handler, Plan | typeof NO_PLAN>;
}

/** A handler's function and its plan. */
export interface HandlerPlan {
  readonly classRef: ClassRef;
  readonly name: string;
  readonly method: Handler;
  readonly plan: Plan;
  /** Why guards are called for it; `undefined` where it is not known that they are. */
  readonly kind: HandlerKind | undefined;
}

const NO_PLAN = Symbol('no plan');
const NO_PLACE = { moduleName: '', tokens: [] };
const NOBODY: Owner = { className: '', classIdentity: '', handler: undefined };

/** Knows the plan of every handler. All are made, and all declarations checked, when the application starts. */
@Injectable()
export class FreqLimitPlans {
  private readonly logger = new Logger('FreqLimit');
  private readonly classes = new Map<unknown, ClassPlans>();
  private readonly prototypes = new WeakSet();
  private readonly confused = new WeakSet();
  private readonly isHandlerClass = (prototype: object): boolean => this.prototypes.has(prototype);
  private readonly identities = new ClassIdentities();
  private readonly rulesById = new Map<string, PlannedRule>();
  private readonly appLevel: Level;
  private readonly namedRules: NamedRuleSet;
  private readonly kinds: HandlerKinds;
  private isInstantiated = false;

  constructor(
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
  ) {
    const rules = options.rules.map((rule, i) => ({
      ...(typeof rule === 'string' ? { named: rule, rule: {} as FreqLimitRule } : { rule }),
      level: 'app' as const,
      place: `rules[${i}] of FreqLimitModule`,
    }));
    this.appLevel = { rules, skip: undefined };
    this.namedRules = new NamedRuleSet(options.namedRules, options);
    this.kinds = new HandlerKinds(options, discovery);
  }

  /**
   * Finds all classes of the application and plans their decorated handlers. To be called when all is instantiated.
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
    this.namedRules.problems.forEach((problem) => problems.add(problem));
    // the module's own rules are checked even where no handler would meet them
    attempt(() => this.plan([this.appLevel], NOBODY));
    this.lookAtInstances();
    const all = this.registerAll();
    for (const plans of all) {
      attempt(() => this.planClass(plans));
      for (const handler of decoratedHandlers(plans.classRef, this.isHandlerClass)) {
        attempt(() => this.planMethod(plans, handler));
      }
      attempt(() => {
        this.planInstance(plans);
      });
    }
    if (problems.size > 0) throw new FreqLimitError('FREQ_LIMIT_INVALID_RULE', [...problems].join('\n'));
    this.warnOfUnheld(all);
    this.warnOfAmbiguous(all);
    this.warnOfBareMilliseconds();
  }

  /** From now on everything is instantiated, and the classes of what factories have made are looked at too. */
  lookAtInstances(): void {
    this.isInstantiated = true;
  }

  /**
   * The handlers that have a plan; before `lookAtInstances` those of classes that Nest knows without an instance. Wrong
   * declarations are passed over: `compile` tells of them.
   */
  handlers(): HandlerPlan[] {
    return this.registerAll().flatMap((plans) => {
      const { classRef } = plans;
      return methodNames(classRef.prototype).flatMap((name) => {
        const method = methodOf(classRef.prototype, name);
        if (method === undefined || !hasOtherMetadata(method)) return [];
        const plan = this.planIfRight(plans, name);
        return plan === undefined ? [] : [{ classRef, name, method, plan, kind: this.kindOf(plans, name) }];
      });
    });
  }

  /** Those of them that guards are called for. To be asked when all is instantiated. */
  guardedHandlers(): HandlerPlan[] {
    const fieldsAreGuarded = this.fieldEnhancers().includes('guards');
    return this.handlers().filter(({ kind }) => kind !== undefined && (kind !== 'field' || fieldsAreGuarded));
  }

  /** What GraphQL calls for fields of results. To be asked when all is instantiated. */
  fieldEnhancers(): readonly unknown[] {
    return this.kinds.fieldEnhancers();
  }

  private planIfRight(plans: ClassPlans, handler: string): Plan | undefined {
    try {
      return this.planMethod(plans, handler);
    } catch (error) {
      if (error instanceof FreqLimitError) return undefined;
      throw error;
    }
  }

  /** The plan of a handler; `undefined` where no rule applies to it. */
  of(classRef: ClassRef, handler: Handler): Plan | undefined {
    const plans = this.classes.get(classRef) ?? this.register(classRef, undefined);
    const known = plans.byFunction.get(handler) ?? this.planFunction(plans, handler);
    return known === NO_PLAN ? undefined : known;
  }

  /**
   * The rules by which `reset` and its like name a guard's counters; without a class, those of the module.
   * @throws {TypeError} when the class is none of the application, or the handler none of the class
   */
  named(classRef: ClassRef | undefined, handler: string | undefined): readonly PlannedRule[] {
    if (classRef === undefined) return this.plan([this.appLevel], NOBODY)?.rules ?? [];
    const plans = this.classes.get(classRef);
    if (plans === undefined)
      throw new TypeError(`${formatForLog(classRef)} is no controller of this application`);
    if (handler === undefined) return this.planClass(plans)?.rules ?? [];
    if (!methodNames(plans.classRef.prototype).includes(handler)) {
      throw new TypeError(`${classRef.name} has no handler called ${formatForLog(handler)}`);
    }
    return this.planMethod(plans, handler)?.rules ?? [];
  }

  private planClass({ classRef, identity }: ClassPlans): Plan | undefined {
    const owner = { className: identity.label, classIdentity: identity.text, handler: undefined };
    return this.plan([this.appLevel, ...classLevels(classRef)], owner);
  }

  private planMethod(plans: ClassPlans, handler: string): Plan | undefined {
    const { classRef, identity, byName, byFunction } = plans;
    if (byName.has(handler)) return byName.get(handler);
    this.refuseContradiction(classRef, handler);
    // one function under several names is one handler, for guards are not told by which it was called
    const names = namesOfMethod(classRef.prototype as object, handler);
    const [name = handler] = names;
    const own = handlerLevels(classRef, name, this.isHandlerClass);
    const levels = [this.appLevel, ...classLevels(classRef), ...own];
    const owner = { className: identity.label, classIdentity: identity.text, handler: name };
    const plan = this.plan(levels, owner, traitsOf(classRef, name, this.isHandlerClass));
    for (const one of [handler, ...names]) byName.set(one, plan);
    const method = methodOf(classRef.prototype, handler);
    if (method !== undefined) byFunction.set(method, plan ?? NO_PLAN);
    return plan;
  }

  private refuseContradiction(classRef: ClassRef, handler: string): void {
    const other = contradictionOf(classRef, handler);
    if (other === undefined) return;
    throw invalidRule(
      `@FreqLimit on ${classRef.name}.${handler}: ${other} is the same function and has other limits, and a guard cannot ` +
        'tell which of the two is called; make one of them a function of its own',
    );
  }

  /** Methods that the class has bound or wrapped for its instance are still its methods, and Nest calls those. */
  private planInstance(plans: ClassPlans): void {
    const { classRef, byFunction, appClass } = plans;
    const instance = appClass?.instance;
    if (typeof instance !== 'object' || instance === null || !this.hasRules(classRef)) return;
    for (const name of methodNames(classRef.prototype)) {
      const method = methodOf(instance, name);
      if (method === undefined || byFunction.has(method)) continue;
      byFunction.set(method, this.planMethod(plans, name) ?? NO_PLAN);
    }
  }

  /** A function that is not planned yet: of a method without a decorator of ours, or of a class that came later. */
  private planFunction(plans: ClassPlans, handler: Handler): Plan | typeof NO_PLAN {
    const { classRef, byFunction } = plans;
    const names = methodNames(classRef.prototype);
    const unbound = handler.name.replace(/^bound /, '');
    const name =
      names.find((one) => methodOf(classRef.prototype, one) === handler) ??
      markedNames(handler, classRef.prototype as object).find((one) => names.includes(one)) ??
      names.find((one) => one === unbound);
    const plan =
      (name === undefined ? this.planStranger(plans, handler) : this.planMethod(plans, name)) ?? NO_PLAN;
    byFunction.set(handler, plan);
    return plan;
  }

  /** A function that is none of the class's methods has the rules of its class, where it cannot have others. */
  private planStranger(plans: ClassPlans, handler: Handler): Plan | undefined {
    const { classRef } = plans;
    const plan = this.planClass(plans);
    if (
      decoratedHandlers(classRef, this.isHandlerClass).length === 0 &&
      plan?.rules.some(({ scope }) => scope === 'handler') !== true
    )
      return plan;
    throw new FreqLimitError(
      'FREQ_LIMIT_RULE_FAILED',
      `${classRef.name}: ${formatForLog(handler)} stands for one of its handlers, and which limits are meant cannot be told; ` +
        'wrap methods by a decorator, or give the function the name of its method',
    );
  }

  private plan(levels: readonly Level[], owner: Owner, traits?: HandlerTraits): Plan | undefined {
    const plan = planOf(
      levels.map((level) => this.namedRules.resolve(level)),
      owner,
      this.options,
      traits,
    );
    for (const rule of plan?.rules ?? []) this.refuseOtherKeys(rule);
    return plan;
  }

  /** Rules of one scope and name share their counters, so they must mean the same by a value. */
  private refuseOtherKeys(rule: PlannedRule): void {
    const other = this.rulesById.get(rule.id);
    if (other === undefined) this.rulesById.set(rule.id, rule);
    else if (!isSameList(other.key.sources, rule.key.sources)) {
      throw invalidRule(
        `${rule.place}: key: it counts on the same counters as the rule at ${other.place}, by something else; ` +
          'give one of them another name, or both the same key',
      );
    } else if (!isSameList(other.key.normalizers, rule.key.normalizers)) {
      throw invalidRule(
        `${rule.place}: normalize: it counts on the same counters as the rule at ${other.place}, spelt otherwise; ` +
          'give one of them another name, or both the same normalize',
      );
    }
  }

  /** All are known before any is planned: a function's declarations depend on whose handlers else it is. */
  private registerAll(): ClassPlans[] {
    // what factories make cannot be seen before, and what some of them have made already must not come first in one process
    // and last in another
    const found = this.isInstantiated ? allClasses(this.discovery) : declaredClasses(this.discovery);
    for (const { classRef } of found) this.prototypes.add(classRef.prototype as object);
    const registered = found.map((appClass) => this.register(appClass.classRef, appClass));
    for (const plans of registered) this.registerConstructor(plans);
    return registered;
  }

  private register(classRef: ClassRef, appClass: AppClass | undefined): ClassPlans {
    const known = this.classes.get(classRef);
    if (known?.classRef === classRef) {
      known.appClass = appClass ?? known.appClass;
      return known;
    }
    const identity = this.identities.identify(classRef, appClass ?? NO_PLACE);
    const plans: ClassPlans = { classRef, identity, appClass, byName: new Map(), byFunction: new WeakMap() };
    this.classes.set(classRef, plans);
    return plans;
  }

  /** Guards get the `constructor` of an instance, which is another class behind a proxy or by a mixin. */
  private registerConstructor(plans: ClassPlans): void {
    const { classRef } = plans;
    const told = constructorOf(classRef) ?? classRef;
    const other = this.classes.get(told);
    if (other === undefined) this.classes.set(told, plans);
    if (other === undefined || other === plans || !this.hasRules(classRef) || this.confused.has(classRef))
      return;
    this.confused.add(classRef);
    this.logger.warn(
      `${classRef.name} has limits, but its prototype has the constructor of ${told.name}, so Nest tells guards that its ` +
        `requests are for ${other.classRef.name}, and they count there: leave constructor out where methods are copied.`,
    );
  }

  private kindOf({ classRef, appClass }: ClassPlans, name: string): HandlerKind | undefined {
    const method = methodAt(classRef.prototype as object, name);
    return method && appClass && this.kinds.of(appClass, name, method);
  }

  private warnOfUnheld(all: readonly ClassPlans[]): void {
    const classes = all.map((plans) => ({
      classRef: plans.classRef,
      kindOf: (name: string) => this.kindOf(plans, name),
    }));
    const lines = rulesWithoutEffect(classes, this.isHandlerClass, this.fieldEnhancers().includes('guards'));
    for (const line of lines) this.logger.warn(line);
  }

  /** Counters by class and handler must be the same in every process. */
  private warnOfAmbiguous(all: readonly ClassPlans[]): void {
    const byFacts = new Map<string, ClassPlans[]>();
    for (const plans of all) {
      const { facts } = plans.identity;
      byFacts.set(facts, [...(byFacts.get(facts) ?? []), plans]);
    }
    for (const [first, ...others] of byFacts.values()) {
      if (first === undefined || others.length === 0) continue;
      if ([first, ...others].some((plans) => this.countsByClass(plans))) this.logger.warn(ambiguous(first));
    }
  }

  /** Whether the class itself has limits, or the module's rules count it apart from others. */
  private countsByClass(plans: ClassPlans): boolean {
    if (this.hasRules(plans.classRef)) return true;
    const names = methodNames(plans.classRef.prototype);
    return names.some(
      (name) =>
        this.kindOf(plans, name) !== undefined &&
        this.planIfRight(plans, name)?.rules.some(({ scope }) => scope !== 'app') === true,
    );
  }

  private declaredLevels(classRef: ClassRef): Level[] {
    const handlers = decoratedHandlers(classRef, this.isHandlerClass);
    return [
      ...classLevels(classRef),
      ...handlers.flatMap((handler) => handlerLevels(classRef, handler, this.isHandlerClass)),
    ];
  }

  private hasRules(classRef: ClassRef): boolean {
    return this.declaredLevels(classRef).some(({ rules }) => rules.length > 0);
  }

  private warnOfBareMilliseconds(): void {
    const levels = [
      { rules: this.namedRules.declared },
      this.appLevel,
      ...[...new Set(this.classes.values())].flatMap(({ classRef }) => this.declaredLevels(classRef)),
    ];
    const lines = levels
      .flatMap((level) => level.rules)
      .flatMap(({ rule: { window }, place }) => {
        if (!looksLikeMilliseconds(window)) return [];
        const name = windowName(window * 1_000);
        return [
          `${place}: window: a bare number is seconds, so ${window} is ${name}. If that is meant, write '${name}'.`,
        ];
      });
    for (const line of new Set(lines)) this.logger.warn(line);
  }
}

function ambiguous({ classRef, identity }: ClassPlans): string {
  const same = `${identity.label}, in the same module and with the same routes`;
  const why =
    'which of them counts on which counters depends on their order, and another process may have another order.';
  return isMadeAtRunTime(classRef.name)
    ? `Several classes with limits are made at run time of ${same}: ${why} Give each a name, after mixin(): ` +
        "Object.defineProperty(classRef, 'name', { value: 'CatsController' })."
    : `Several classes with limits are called ${same}: ${why} Rename all but one.`;
}

function methodOf(owner: unknown, name: string): Handler | undefined {
  const method = (owner as Readonly<Record<string, unknown>>)[name];
  return typeof method === 'function' ? method : undefined;
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
