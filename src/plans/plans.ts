import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { type FreqLimitError, formatForLog } from '../core/errors.js';
import { FREQ_LIMIT_RESOLVED_OPTIONS } from '../core/tokens.js';
import { type ClassRef, constructorOf } from '../rules/class-ref.js';
import type { IsHandlerClass } from '../rules/handler-places.js';
import { methodAt, methodNames } from '../rules/methods.js';
import type { Plan } from '../rules/plan.js';
import type { DeclaredRule, PlannedRule } from '../rules/planned-rule.js';
import type { ClassPlans, PlannedMethod } from './class-plans.js';
import { ClassRegistry } from './class-registry.js';
import { knownClasses, classesOfInstances } from './discover-classes.js';
import type { HandlerFunction } from './handler-function.js';
import { type HandlerKind, HandlerKinds } from './handler-kinds.js';
import type { PlanOptions } from './plan-options.js';
import { Planner } from './planner.js';

/** A handler's method, and its plan. */
export interface PlannedHandler extends PlannedMethod {
  readonly classRef: ClassRef;
  /** Why guards are called for it; `undefined` if it is not known that they are. */
  readonly kind: HandlerKind | undefined;
}

/**
 * The plans of all handlers. At start-up, classes are found and planned in two steps: first those that Nest knows before it
 * instantiates anything, then those of instances that factories have made.
 */
@Injectable()
export class FreqLimitPlans {
  private readonly planner: Planner;
  private readonly registry: ClassRegistry;
  private readonly kinds: HandlerKinds;

  constructor(
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) options: PlanOptions,
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
  ) {
    this.planner = new Planner(options);
    this.registry = new ClassRegistry(this.planner);
    this.kinds = new HandlerKinds(options, discovery);
  }

  /**
   * Finds the classes that Nest knows without an instance, and plans their handlers. Some factories may have made their
   * instances already, but which ones differs between processes, so these classes are not looked at yet.
   * @returns the handlers that have a plan, without those with wrong declarations
   */
  planKnownClasses(): PlannedHandler[] {
    return this.registry.add(knownClasses(this.discovery)).flatMap((plans) => this.handlersOf(plans));
  }

  /** Does the same for classes of instances that factories have made, when everything is instantiated. */
  planClassesOfInstances(): PlannedHandler[] {
    const added = this.registry.add(classesOfInstances(this.discovery));
    for (const plans of this.registry.all) plans.planBoundMethods();
    return added.flatMap((plans) => this.handlersOf(plans));
  }

  /** The errors in the options, in the module's rules and in all declarations. A mistake may be in several of them. */
  errors(): readonly FreqLimitError[] {
    return [...this.planner.errors, ...this.registry.all.flatMap((plans) => plans.errors())];
  }

  /** The plan of a handler; `undefined` if no rule applies. */
  of(classRef: ClassRef, handler: HandlerFunction): Plan | undefined {
    return this.registry.findOrAdd(classRef).of(handler);
  }

  /**
   * The rules of a handler, of a class, or of the module, for calls that name the counters of a rule.
   * @throws {TypeError} if the application does not have the class, or the class does not have the handler
   */
  rulesOf(classRef: ClassRef | undefined, handler: string | undefined): readonly PlannedRule[] {
    if (classRef === undefined) return rulesIn(this.planner.modulePlan.plan);
    const plans = this.registry.find(classRef);
    if (plans === undefined)
      throw new TypeError(`${formatForLog(classRef)} is not a controller of this application`);
    if (handler === undefined) return rulesIn(plans.ofClass().plan);
    if (!methodNames(plans.classRef.prototype).includes(handler)) {
      throw new TypeError(`${classRef.name} has no handler called ${formatForLog(handler)}`);
    }
    return rulesIn(plans.ofMethod(handler).plan);
  }

  /** All handlers that have a plan. */
  handlers(): PlannedHandler[] {
    return this.classes.flatMap((plans) => this.handlersOf(plans));
  }

  /** Those of them that guards are called for. Call it when everything is instantiated. */
  guardedHandlers(): PlannedHandler[] {
    const fieldsAreGuarded = this.fieldEnhancers().includes('guards');
    return this.handlers().filter(({ kind }) => kind !== undefined && (kind !== 'field' || fieldsAreGuarded));
  }

  /** What GraphQL runs for fields of results: `guards`, `interceptors`. Call it when everything is instantiated. */
  fieldEnhancers(): readonly unknown[] {
    return this.kinds.fieldEnhancers();
  }

  /** The classes that were found. */
  get classes(): readonly ClassPlans[] {
    return this.registry.all;
  }

  /** Whether a prototype is that of one of these classes. */
  get isHandlerClass(): IsHandlerClass {
    return this.registry.isHandlerClass;
  }

  /** All rules in the module's options and on classes and handlers, as they were written. */
  get declaredRules(): readonly DeclaredRule[] {
    const levels = this.classes.flatMap((plans) => plans.declaredLevels());
    return [...this.planner.declaredRules, ...levels.flatMap(({ rules }) => rules)];
  }

  /** The class whose plans guards get for the requests of a class. Differs if a prototype has another's `constructor`. */
  countedAs(plans: ClassPlans): ClassPlans {
    return this.registry.find(constructorOf(plans.classRef) ?? plans.classRef) ?? plans;
  }

  /** Why guards are called for a method; `undefined` if it is not known that they are. */
  kindOf({ classRef, appClass }: ClassPlans, name: string): HandlerKind | undefined {
    const method = methodAt(classRef.prototype as object, name);
    return method && appClass && this.kinds.of(appClass, name, method);
  }

  private handlersOf(plans: ClassPlans): PlannedHandler[] {
    return plans
      .methods()
      .map((method) => ({ ...method, classRef: plans.classRef, kind: this.kindOf(plans, method.name) }));
  }
}

function rulesIn(plan: Plan | undefined): readonly PlannedRule[] {
  return plan?.rules ?? [];
}
