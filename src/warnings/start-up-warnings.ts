import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { ADDRESS_HEADERS } from '../contexts/forwarded.js';
import { guardsOn, holdsLimits, isOurs } from '../nest/nest-metadata.js';
import type { FreqLimitPlans } from '../plans/plans.js';
import { FREQ_LIMIT_PLANS } from '../core/tokens.js';
import { type ClassRef, classLevels, decoratedHandlers } from '../rules/metadata.js';
import type { PlannedRule } from '../rules/planned-rule.js';

/** A handler that has limits, and what stands before it. */
interface LimitedHandler {
  /** `SmsController.send`. */
  readonly name: string;
  readonly rules: readonly PlannedRule[];
  /** Guards, as classes or instances, as Nest asks them; of the application's, those that live for a request last. */
  readonly guards: readonly unknown[];
  /** Whether it answers HTTP requests. */
  readonly isRoute: boolean;
  /** Whether it resolves a field of a GraphQL result. */
  readonly isField: boolean;
}

/** A key that reads a header in which a proxy sends the address of its client. */
const FORWARDED = new RegExp(`^headers\\.(?:${[...ADDRESS_HEADERS].join('|')})$`, 'i');
const OF_CALLER = /^(body|query|params|headers)\./;
const OF_USER = /^user\./;

const WITHOUT_KEY = { ip: 'counted by its address', skip: 'not counted by it', deny: 'refused' } as const;
const MAX_NAMES = 8;

/** Looks over the application once it is wired, and says in the log what is allowed and most likely not meant. */
@Injectable()
export class StartUpWarnings implements OnApplicationBootstrap {
  private readonly logger = new Logger('FreqLimit');

  constructor(
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
  ) {}

  onApplicationBootstrap(): void {
    const limited = this.limited();
    if (limited.length === 0) return;
    const lines = [
      notHeld(limited),
      ...withoutUser(limited),
      ...byForwarded(limited),
      byCallerOnly(limited),
      this.withoutOutcome(limited),
    ];
    for (const line of [...lines, this.trustingAll()]) if (line !== undefined) this.logger.warn(line);
  }

  private limited(): LimitedHandler[] {
    const handlers = this.plans.guardedHandlers();
    const decorated = new Set([...new Set(handlers.map(({ classRef }) => classRef))].filter(isDecorated));
    return handlers.flatMap(({ classRef, name, method, kind }) => {
      const isRoute = kind === 'route';
      // other kinds of handlers may have no guard on purpose, if they have no limit of their own
      if (!isRoute && !decorated.has(classRef)) return [];
      const rules = this.plans.of(classRef, method)?.rules;
      if (rules === undefined) return [];
      const guards = [
        ...this.config.getGlobalGuards(),
        ...this.config.getGlobalRequestGuards(),
        ...guardsOn(classRef, method),
      ];
      return [{ name: `${classRef.name}.${name}`, rules, guards, isRoute, isField: kind === 'field' }];
    });
  }

  private withoutOutcome(limited: readonly LimitedHandler[]): string | undefined {
    const fields = limited.filter(
      ({ isField, rules }) =>
        isField && rules.some(({ level, shouldCount }) => level === 'handler' && shouldCount !== undefined),
    );
    if (fields.length === 0 || this.plans.fieldEnhancers().includes('interceptors')) return undefined;
    return (
      `Rules with countWhen count every call of ${namesOf(fields)}, because GraphQL calls no interceptors for fields: add ` +
      "'interceptors' to fieldResolverEnhancers in the options of GraphQLModule."
    );
  }

  /** Express alone: Fastify's instance does not tell, and `get` of it is a route. */
  private trustingAll(): string | undefined {
    const adapter = this.http.httpAdapter as HttpAdapterHost['httpAdapter'] | undefined;
    if (adapter?.getType() !== 'express') return undefined;
    const express = adapter.getInstance<{ get?: (setting: string) => unknown }>();
    if (express.get?.('trust proxy') !== true) return undefined;
    return (
      "Express's trust proxy is true, so a request's address is the leftmost of X-Forwarded-For, which the caller may " +
      "write himself: name the proxies instead, as in app.set('trust proxy', 'loopback'), or say how many there are."
    );
  }
}

function notHeld(limited: readonly LimitedHandler[]): string | undefined {
  const open = limited.filter(({ guards }) => !guards.some(holdsLimits));
  if (open.length === 0) return undefined;
  return (
    `No FreqLimitGuard stands before ${namesOf(open)}: the limits there are not held. ` +
    'Write @UseGuards(FreqLimitGuard) there, @SkipFreqLimit() where none is meant, or leave globalGuard at true.'
  );
}

function withoutUser(limited: readonly LimitedHandler[]): string[] {
  // of what has no guard of ours another line tells
  const early = limited.filter(({ guards, isRoute }) => isRoute && guards.findIndex(isOurs) === 0);
  return byRule(early, OF_USER).map(
    ([label, path, rule, handlers]) =>
      `${label}: its key reads {${path}}, but no guard stands before FreqLimitGuard at ${namesOf(handlers)}: unless ` +
      `middleware sets request.user, a visit there is ${WITHOUT_KEY[rule.onMissingKey]}. Put the guard that sets it first: ` +
      'as APP_GUARD in a module that is imported before FreqLimitModule, or with globalGuard: false and ' +
      '@UseGuards(AuthGuard, FreqLimitGuard).',
  );
}

function byForwarded(limited: readonly LimitedHandler[]): string[] {
  return byRule(limited, FORWARDED).map(
    ([label, path]) =>
      `${label}: its key reads {${path}}, which the caller may write himself. {ip} is the address as far as the ` +
      'application trusts its proxies.',
  );
}

function byCallerOnly(limited: readonly LimitedHandler[]): string | undefined {
  const open = limited.filter(({ rules, isRoute }) => isRoute && rules.every(isByCallerOnly));
  if (open.length === 0) return undefined;
  return (
    `All limits of ${namesOf(open)} count by what the caller writes himself (body, query, params, headers), so that ` +
    'each fresh value is a fresh counter: put one by {ip} or {user.id} beside them.'
  );
}

function isByCallerOnly({ key }: PlannedRule): boolean {
  return !key.isDynamic && key.paths.length > 0 && key.paths.every((path) => OF_CALLER.test(path));
}

/** The declared rules whose key reads such a path, each once, with the handlers it applies to. */
function byRule(
  limited: readonly LimitedHandler[],
  pattern: RegExp,
): (readonly [label: string, path: string, rule: PlannedRule, handlers: LimitedHandler[]])[] {
  const found = new Map<string, readonly [string, string, PlannedRule, LimitedHandler[]]>();
  for (const handler of limited) {
    for (const rule of handler.rules) {
      const path = rule.key.paths.find((one) => pattern.test(one));
      if (path === undefined) continue;
      const label = `${rule.place}, rule "${rule.name}"`;
      const known = found.get(label);
      if (known === undefined) found.set(label, [label, path, rule, [handler]]);
      else known[3].push(handler);
    }
  }
  return [...found.values()];
}

/** Names of handlers, as many as a line of a log should hold. */
export function namesOf(handlers: readonly { readonly name: string }[]): string {
  const names = handlers.map(({ name }) => name);
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Whether a class or one of its handlers carries a decorator of ours. */
function isDecorated(classRef: ClassRef): boolean {
  return (
    decoratedHandlers(classRef).length > 0 || classLevels(classRef).some(({ rules }) => rules.length > 0)
  );
}
