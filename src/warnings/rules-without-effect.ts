import type { HandlerKind } from '../plans/handler-kinds.js';
import type { FreqLimitPlans } from '../plans/plans.js';
import type { ClassRef } from '../rules/class-ref.js';
import { classesWithRules, handlerLevels, placesOfHandler, placesWithRules } from '../rules/levels.js';
import type { HandlerPlace } from '../rules/metadata.js';
import { methodNames, ownerOf } from '../rules/methods.js';
import type { Warning } from './warning.js';

type KindOf = (name: string) => HandlerKind | undefined;

/** Rules that are declared but in the plan of no handler that guards are called for: one warning for each method and class. */
export function rulesWithoutEffect(plans: FreqLimitPlans): Warning[] {
  const classes = plans.classes
    .map((one) => ({ classRef: one.classRef, kindOf: (name: string) => plans.kindOf(one, name) }))
    .filter(({ classRef }) => classesWithRules(classRef).length > 0 || placesWithRules(classRef).length > 0);
  const done = new Places();
  const fieldsAreGuarded = plans.fieldEnhancers().includes('guards');
  for (const { classRef, kindOf } of classes) {
    for (const name of methodNames(classRef.prototype)) {
      const kind = kindOf(name);
      if (kind === undefined || (kind === 'field' && !fieldsAreGuarded)) continue;
      for (const place of placesOfHandler(classRef, name, plans.isHandlerClass)) done.add(place);
      // for a field, only the rules of its own method apply
      if (kind !== 'field') for (const one of classesWithRules(classRef)) done.addClass(one);
    }
  }
  return classes.flatMap(({ classRef, kindOf }) => warningsOf(classRef, kindOf, done));
}

function warningsOf(classRef: ClassRef, kindOf: KindOf, done: Places): Warning[] {
  const methods = placesWithRules(classRef).filter((place) => {
    // a subclass that overrides a method and declares something itself replaces the rule on purpose
    const isReplaced = isOverridden(place, classRef) && handlerLevels(classRef, place.handler).length > 0;
    return done.add(place) && !isReplaced;
  });
  const messages = [
    ...methods.map((place) => ofMethod(place, classRef, kindOf(place.handler))),
    ...classesWithRules(classRef)
      .filter((one) => done.addClass(one))
      .map(ofClass),
  ];
  return messages.map((message) => ({ code: 'FREQ_LIMIT_RULE_WITHOUT_EFFECT', message }));
}

/** The places whose rules have an effect, or a warning already. */
class Places {
  private readonly methods = new Map<object, Set<string>>();
  private readonly classes = new Set<ClassRef>();

  /** @returns whether the place is new */
  add({ target, handler }: HandlerPlace): boolean {
    const known = this.methods.get(target) ?? new Set();
    this.methods.set(target, known);
    return known.size < known.add(handler).size;
  }

  /** @returns whether the class is new */
  addClass(classRef: ClassRef): boolean {
    return this.classes.size < this.classes.add(classRef).size;
  }
}

function isOverridden({ target, handler }: HandlerPlace, { prototype }: ClassRef): boolean {
  const owner = ownerOf(prototype as object, handler);
  return owner !== target && Object.prototype.isPrototypeOf.call(target, owner);
}

const INSTEAD =
  'Remove it and call FreqLimitService there. If another library calls guards for it, name the metadata that marks its handlers: ' +
  'contextAdapters: { kind: { handlerMetadata: KEY } }.';

function ofMethod(place: HandlerPlace, classRef: ClassRef, kind: HandlerKind | undefined): string {
  const { target, handler } = place;
  const { name } = classRef;
  const label = `${target.constructor.name}.${handler} has a limit, but`;
  if (isOverridden(place, classRef)) {
    return (
      `${label} ${name} overrides the method without one, so it has no effect there. Add @FreqLimit to ` +
      `${name}.${handler} too, or @SkipFreqLimit() if you want no limit there.`
    );
  }
  if (kind === 'field') {
    return (
      `${label} GraphQL does not call guards for fields, so it has no effect. Set fieldResolverEnhancers: ['guards'] in ` +
      'the options of GraphQLModule.'
    );
  }
  return (
    `${label} Nest does not call guards for this method (it is not a route, a message or event pattern, a gateway message ` +
    `or a resolver), so the limit has no effect. ${INSTEAD}`
  );
}

function ofClass({ name }: ClassRef): string {
  return (
    `${name} has a limit, but Nest does not call guards for any of its methods (none is a route, a message or event ` +
    `pattern, a gateway message, a query, a mutation or a subscription), so the limit has no effect. ${INSTEAD}`
  );
}
