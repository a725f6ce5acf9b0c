import { FreqLimitError, formatForLog, invalidRule } from '../core/errors.js';
import { isRedirect } from '../nest/nest-metadata.js';
import type { ClassRef } from '../rules/class-ref.js';
import type { IsHandlerClass } from '../rules/handler-places.js';
import {
  chargedNames,
  classLevels,
  contradictionOf,
  decoratedHandlers,
  handlerLevels,
  showsCharges,
  showsVerdict,
} from '../rules/levels.js';
import { hasOtherMetadata } from '../rules/metadata.js';
import { methodNames, namesOfMethod } from '../rules/methods.js';
import type { HandlerTraits, Level, Plan } from '../rules/plan.js';
import type { Owner } from '../rules/planned-rule.js';
import type { ClassIdentity } from './class-identity.js';
import type { AppClass } from './discover-classes.js';
import { functionOf, type HandlerFunction, methodNameOf } from './handler-function.js';
import type { PlanResult } from './plan-result.js';
import type { Planner } from './planner.js';

/** A method that has a plan. */
export interface PlannedMethod {
  readonly name: string;
  readonly method: HandlerFunction;
  readonly plan: Plan;
}

const NO_PLAN = Symbol('no plan');

/** The plans of one class: of the class as a whole, and of its handlers by name and by function. Each is made once. */
export class ClassPlans {
  private readonly byFunction = new WeakMap<HandlerFunction, Plan | typeof NO_PLAN>();
  private readonly byName = new Map<string, PlanResult>();
  private whole: PlanResult | undefined;
  private declared: ReadonlyMap<string, readonly Level[]> | undefined;
  private onClass: readonly Level[] | undefined;

  /**
   * @param appClass `undefined` if the class was not found at start-up
   * @param isHandlerClass knows the classes that were found, and must know all before the first plan is made
   */
  constructor(
    readonly classRef: ClassRef,
    readonly identity: ClassIdentity,
    public appClass: AppClass | undefined,
    private readonly planner: Planner,
    private readonly isHandlerClass: IsHandlerClass,
  ) {}

  /**
   * The plan of a handler's function; `undefined` if no rule applies.
   * @throws {FreqLimitError} if its declarations are wrong, or the function is not known
   */
  of(handler: HandlerFunction): Plan | undefined {
    const known = this.byFunction.get(handler) ?? this.planFunction(handler);
    return known === NO_PLAN ? undefined : known;
  }

  /** The plan of a method, by its name. */
  ofMethod(name: string): PlanResult {
    return this.byName.get(name) ?? this.planMethod(name);
  }

  /** The plan of the class as a whole. */
  ofClass(): PlanResult {
    return (this.whole ??= this.planner.plan(this.declaredOnClass, this.ownerFor(undefined)));
  }

  /** The methods that have a plan, and metadata of a decorator other than ours. */
  methods(): PlannedMethod[] {
    const { prototype } = this.classRef;
    return methodNames(prototype).flatMap((name) => {
      const method = functionOf(prototype, name);
      if (method === undefined || !hasOtherMetadata(method)) return [];
      const plan = this.ofMethod(name).planIfValid;
      return plan === undefined ? [] : [{ name, method, plan }];
    });
  }

  /** Plans methods that the class has bound or wrapped for its instance: Nest calls those functions. */
  planBoundMethods(): void {
    const instance = this.appClass?.instance();
    if (typeof instance !== 'object' || instance === null || !this.hasRules()) return;
    for (const name of methodNames(this.classRef.prototype)) {
      const method = functionOf(instance, name);
      if (method === undefined || this.byFunction.has(method)) continue;
      this.remember(method, this.ofMethod(name));
    }
  }

  /** The errors in all declarations of the class. */
  errors(): FreqLimitError[] {
    const handlers = [...this.declaredOnHandlers.keys()].map((name) => this.ofMethod(name));
    const results = new Set([this.ofClass(), ...handlers, ...this.byName.values()]);
    return [...results].flatMap(({ error }) => error ?? []);
  }

  /** Whether a rule is declared on the class or on one of its handlers. */
  hasRules(): boolean {
    return this.declaredLevels().some(({ rules }) => rules.length > 0);
  }

  /** Whether a rule is declared on the class, or a rule or a skip on one of its handlers. */
  isDecorated(): boolean {
    return this.declaredOnHandlers.size > 0 || this.hasRules();
  }

  /** All declarations on the class and on its handlers. */
  declaredLevels(): Level[] {
    return [...this.declaredOnClass, ...[...this.declaredOnHandlers.values()].flat()];
  }

  /** The declarations on the class. Read once, so that its handlers share the planned rules. */
  private get declaredOnClass(): readonly Level[] {
    return (this.onClass ??= classLevels(this.classRef));
  }

  /** The declarations on handlers by name. Read once, and only when all classes are known. */
  private get declaredOnHandlers(): ReadonlyMap<string, readonly Level[]> {
    return (this.declared ??= new Map(
      methodNames(this.classRef.prototype)
        .map((name) => [name, this.levelsOf(name)] as const)
        .filter(([, levels]) => levels.length > 0),
    ));
  }

  private levelsOf(handler: string): Level[] {
    return handlerLevels(this.classRef, handler, this.isHandlerClass);
  }

  /**
   * Plans the handler that a method is. One function under several names is one handler, called by the first of them: a guard
   * cannot tell by which name the function was called.
   */
  private planMethod(name: string): PlanResult {
    const { classRef } = this;
    const names = namesOfMethod(classRef.prototype as object, name);
    const [handler = name] = names;
    const levels = [...this.declaredOnClass, ...this.levelsOf(handler)];
    const mistake = contradictionIn(classRef, names);
    const result = this.planner.plan(levels, this.ownerFor(handler), this.traitsOf(handler), mistake);
    for (const one of names) this.byName.set(one, result);
    const method = functionOf(classRef.prototype, name);
    if (method !== undefined) this.remember(method, result);
    return result;
  }

  private remember(method: HandlerFunction, result: PlanResult): void {
    // each request for a wrong declaration fails
    if (result.error === undefined) this.byFunction.set(method, result.plan ?? NO_PLAN);
  }

  /** A function that is not planned yet: of a method without a decorator of ours, or of a class that came later. */
  private planFunction(handler: HandlerFunction): Plan | typeof NO_PLAN {
    const name = methodNameOf(handler, this.classRef.prototype);
    const plan = (name === undefined ? this.planUnknown(handler) : this.ofMethod(name).plan) ?? NO_PLAN;
    this.byFunction.set(handler, plan);
    return plan;
  }

  /** A function that is none of the class's methods has the rules of the class, if these are all that it can have. */
  private planUnknown(handler: HandlerFunction): Plan | undefined {
    const { plan } = this.ofClass();
    const hasHandlerRules = plan?.rules.some(({ scope }) => scope === 'handler') === true;
    const areAllEqual = decoratedHandlers(this.classRef, this.isHandlerClass).length === 0;
    if (areAllEqual && !hasHandlerRules) return plan;
    throw new FreqLimitError(
      'FREQ_LIMIT_RULE_FAILED',
      `${this.classRef.name}: the function ${formatForLog(handler)} is not one of its methods, so its limits are not known. ` +
        'Wrap methods with a decorator, or give the function the name of its method.',
    );
  }

  private ownerFor(handler: string | undefined): Owner {
    return { className: this.identity.label, classIdentity: this.identity.text, handler };
  }

  private traitsOf(name: string): HandlerTraits {
    const { classRef, isHandlerClass } = this;
    const method = functionOf(classRef.prototype, name);
    return {
      showsVerdict: showsVerdict(classRef, name, isHandlerClass),
      showsCharges: showsCharges(classRef, name, isHandlerClass),
      chargedNames: chargedNames(classRef, name, isHandlerClass),
      redirects: method !== undefined && isRedirect(method),
    };
  }
}

/** The error of the first of these names whose function has other declarations under another name. */
function contradictionIn(classRef: ClassRef, names: readonly string[]): FreqLimitError | undefined {
  for (const handler of names) {
    const other = contradictionOf(classRef, handler);
    if (other === undefined) continue;
    return invalidRule(
      `@FreqLimit on ${classRef.name}.${handler}: ${other} is the same function but has other limits, and a guard cannot ` +
        'tell which of the two is called. Make one of them a function of its own.',
    );
  }
  return undefined;
}
