import type { HandlerKind } from '../plans/handler-kinds.js';
import { type HandlerPlace, methodNames, ownerOf } from '../rules/handler-places.js';
import {
  type ClassRef,
  handlerLevels,
  type IsHandlerClass,
  placesOfHandler,
  ruledClasses,
  ruledPlaces,
} from '../rules/metadata.js';

/** A class, and why guards are called for its methods. */
export interface ClassWithHandlers {
  readonly classRef: ClassRef;
  readonly kindOf: (name: string) => HandlerKind | undefined;
}

/**
 * Finds rules that are declared and in the plan of no handler that guards are called for.
 * @returns a line for the log for each method, and for each class
 */
export function rulesWithoutEffect(
  classes: readonly ClassWithHandlers[],
  isHandlerClass: IsHandlerClass,
  fieldsAreGuarded: boolean,
): string[] {
  const held = new HeldPlaces();
  const lines: string[] = [];
  for (const { classRef, kindOf } of classes) {
    if (ruledClasses(classRef).length === 0 && ruledPlaces(classRef).length === 0) continue;
    for (const name of methodNames(classRef.prototype)) {
      const kind = kindOf(name);
      if (kind === undefined || (kind === 'field' && !fieldsAreGuarded)) continue;
      held.add(placesOfHandler(classRef, name, isHandlerClass));
      // a field has the rules of its own method alone
      if (kind !== 'field') held.addClasses(ruledClasses(classRef));
    }
  }
  for (const { classRef, kindOf } of classes) {
    for (const place of ruledPlaces(classRef)) {
      // who overrides a method and says what holds there, means it
      const isReplaced = isOverridden(place, classRef) && handlerLevels(classRef, place.handler).length > 0;
      if (held.meets(place) && !isReplaced) lines.push(lineOf(place, classRef, kindOf(place.handler)));
    }
    for (const one of ruledClasses(classRef)) if (held.meetsClass(one)) lines.push(lineOfClass(one));
  }
  return lines;
}

/** The places whose rules hold, or have a line already. */
class HeldPlaces {
  private readonly methods = new Map<object, Set<string>>();
  private readonly classes = new Set<ClassRef>();

  add(places: readonly HandlerPlace[]): void {
    for (const place of places) this.meets(place);
  }

  addClasses(classes: readonly ClassRef[]): void {
    for (const one of classes) this.classes.add(one);
  }

  /** Whether a place is met for the first time. */
  meets({ target, handler }: HandlerPlace): boolean {
    const known = this.methods.get(target) ?? new Set();
    this.methods.set(target, known);
    return known.size < known.add(handler).size;
  }

  meetsClass(classRef: ClassRef): boolean {
    return this.classes.size < this.classes.add(classRef).size;
  }
}

const INSTEAD =
  'Limit it by FreqLimitService. Where a library calls guards for it, name the metadata that marks its handlers: ' +
  'contextAdapters: { kind: { handlerMetadata: KEY } }.';

function isOverridden({ target, handler }: HandlerPlace, { prototype }: ClassRef): boolean {
  const owner = ownerOf(prototype as object, handler);
  return owner !== target && Object.prototype.isPrototypeOf.call(target, owner);
}

function lineOf(
  { target, handler }: HandlerPlace,
  classRef: ClassRef,
  kind: HandlerKind | undefined,
): string {
  const label = `${target.constructor.name}.${handler} has a limit, but`;
  if (isOverridden({ target, handler }, classRef)) {
    return (
      `${label} ${classRef.name} overrides the method without one, so it has no effect there: write @FreqLimit on ` +
      `${classRef.name}.${handler} too.`
    );
  }
  if (kind === 'field') {
    return (
      `${label} GraphQL calls no guards for fields, so it has no effect: set fieldResolverEnhancers: ['guards'] in the ` +
      'options of GraphQLModule.'
    );
  }
  return (
    `${label} no decorator of Nest makes it a handler that guards are called for (a route, a message or event pattern, a ` +
    `message of a gateway, a resolver), so it has no effect. ${INSTEAD}`
  );
}

function lineOfClass({ name }: ClassRef): string {
  return (
    `${name} has a limit, but no method of the class is a handler that guards are called for (a route, a message or event ` +
    `pattern, a message of a gateway, a query, a mutation, a subscription), so it has no effect. ${INSTEAD}`
  );
}
