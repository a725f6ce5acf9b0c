import { type ClassRef, constructorOf } from '../rules/class-ref.js';
import { ClassIdentities } from './class-identity.js';
import { ClassPlans } from './class-plans.js';
import type { AppClass } from './discover-classes.js';
import type { Planner } from './planner.js';

const NO_PLACE = { moduleName: '', tokens: [] };

/** The classes of the application, each with its plans. */
export class ClassRegistry {
  private readonly byClass = new Map<unknown, ClassPlans>();
  private readonly found = new Set<ClassPlans>();
  private readonly prototypes = new WeakSet();
  private readonly identities = new ClassIdentities();

  constructor(private readonly planner: Planner) {}

  /** Whether a prototype is that of a class that was found at start-up. */
  readonly isHandlerClass = (prototype: object): boolean => this.prototypes.has(prototype);

  /**
   * Adds classes that were found at start-up. All are added before the first is planned, because the declarations of a
   * function depend on the classes that have it.
   */
  add(classes: readonly AppClass[]): ClassPlans[] {
    for (const { classRef } of classes) this.prototypes.add(classRef.prototype as object);
    const added = classes.map((appClass) => this.addFound(appClass));
    for (const plans of added) this.addAlias(plans);
    return added;
  }

  /** The classes that were found at start-up. */
  get all(): readonly ClassPlans[] {
    return [...this.found];
  }

  /** The plans of a class as guards get it; `undefined` if it was not found. */
  find(classRef: ClassRef): ClassPlans | undefined {
    return this.byClass.get(classRef);
  }

  /** The same; a class that was not found at start-up, such as one of a lazy module, is added. */
  findOrAdd(classRef: ClassRef): ClassPlans {
    return this.byClass.get(classRef) ?? this.create(classRef, undefined);
  }

  private addFound(appClass: AppClass): ClassPlans {
    const { classRef } = appClass;
    const known = this.byClass.get(classRef);
    // an alias of another class gives way
    const plans = known?.classRef === classRef ? known : this.create(classRef, appClass);
    plans.appClass = mergeRoles(plans.appClass, appClass);
    this.found.add(plans);
    return plans;
  }

  private create(classRef: ClassRef, appClass: AppClass | undefined): ClassPlans {
    const identity = this.identities.identify(classRef, appClass ?? NO_PLACE);
    const plans = new ClassPlans(classRef, identity, appClass, this.planner, this.isHandlerClass);
    this.byClass.set(classRef, plans);
    return plans;
  }

  /** Guards get the `constructor` of an instance. For a proxy or a mixin this is another class. */
  private addAlias(plans: ClassPlans): void {
    const reported = constructorOf(plans.classRef) ?? plans.classRef;
    if (!this.byClass.has(reported)) this.byClass.set(reported, plans);
  }
}

/** A class that Nest knows, and of which a factory has made an instance too. */
function mergeRoles(known: AppClass | undefined, found: AppClass): AppClass {
  return known === undefined ? found : { ...known, roles: new Set([...known.roles, ...found.roles]) };
}
