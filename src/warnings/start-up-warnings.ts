import { Inject, Injectable } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import type { Store } from '../core/store.js';
import { FREQ_LIMIT_PLANS, FREQ_LIMIT_RESOLVED_OPTIONS, FREQ_LIMIT_STORE } from '../core/tokens.js';
import { nestLog } from '../nest/log.js';
import { modulePathsOf } from '../nest/nest-metadata.js';
import type { PlanOptions } from '../plans/plan-options.js';
import type { FreqLimitPlans, PlannedHandler } from '../plans/plans.js';
import { ambiguousClasses, wrongConstructors } from './class-warnings.js';
import { constantKeys } from './constant-keys.js';
import { unprotectedHandlers, usersNotSet } from './guard-warnings.js';
import { keysFromClientOnly, keysFromProxyHeaders } from './key-warnings.js';
import { type LimitedHandler, limitedHandlers } from './limited-handlers.js';
import { unprotectedMessageHandlers } from './message-handler-warnings.js';
import { paramsNotInPaths } from './param-warnings.js';
import { protectedHandlers } from './protected-handlers.js';
import { rulesWithoutEffect } from './rules-without-effect.js';
import { shortBlocks } from './short-blocks.js';
import { startLine } from './start-line.js';
import { joinNames, type Warning } from './warning.js';
import { questionableWindows } from './window-warnings.js';

/** Logs that the application has started, and declarations and settings that are allowed but probably mistakes. */
@Injectable()
export class StartUpWarnings {
  constructor(
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: PlanOptions,
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /** Call it when the application is initialized: then its guards and its proxy setting are known. */
  async log(): Promise<void> {
    const handlers = this.plans.guardedHandlers();
    nestLog.info('FREQ_LIMIT_STARTED', await this.startLine(handlers));
    const warnings = [
      ...this.ofDeclarations(),
      ...(await unprotectedMessageHandlers(handlers, this.hasHttp)),
      ...constantKeys(handlers),
      ...shortBlocks(handlers),
      ...this.ofLimited(limitedHandlers(handlers, this.plans, this.config)),
    ];
    for (const { code, message } of warnings) nestLog.warn(code, message);
  }

  private async startLine(handlers: readonly PlannedHandler[]): Promise<string> {
    const { config, hasHttp, options, plans, store } = this;
    // `disableLimits` of tests takes the plans away here
    const limited = handlers.filter(({ classRef, method }) => plans.of(classRef, method) !== undefined);
    return startLine({
      place: store.place,
      isUp: store.health().isUp,
      namespace: options.namespace,
      protected: await protectedHandlers(limited, config, hasHttp),
      hasRules: plans.declaredRules.length > 0,
    });
  }

  private ofDeclarations(): Warning[] {
    return [
      ...wrongConstructors(this.plans),
      ...rulesWithoutEffect(this.plans),
      ...ambiguousClasses(this.plans),
      ...questionableWindows(this.plans.declaredRules),
    ];
  }

  private ofLimited(limited: readonly LimitedHandler[]): Warning[] {
    if (limited.length === 0) return [];
    return [
      ...unprotectedHandlers(limited),
      ...usersNotSet(limited),
      ...keysFromProxyHeaders(limited),
      ...keysFromClientOnly(limited),
      ...this.paramsNotInPaths(limited),
      ...this.outcomesUnknown(limited),
      ...this.trustInAllProxies(),
    ];
  }

  private paramsNotInPaths(limited: readonly LimitedHandler[]): Warning[] {
    // an adapter of the application may read parameters from anywhere
    if (this.options.contextAdapters['http'] !== undefined) return [];
    const modulePaths = [...this.modules.values()].flatMap(({ metatype }) => modulePathsOf(metatype));
    return paramsNotInPaths(limited, [this.config.getGlobalPrefix(), ...modulePaths]);
  }

  private outcomesUnknown(limited: readonly LimitedHandler[]): Warning[] {
    const fields = limited.filter(
      ({ kind, rules }) =>
        kind === 'field' &&
        rules.some(
          ({ level, shouldCount, actualCost }) =>
            level === 'handler' && (shouldCount ?? actualCost) !== undefined,
        ),
    );
    if (fields.length === 0 || this.plans.fieldEnhancers().includes('interceptors')) return [];
    return [
      {
        code: 'FREQ_LIMIT_OUTCOME_UNKNOWN',
        message:
          `Rules with countWhen count every call of ${joinNames(fields.map(({ name }) => name))}, and actualCost is not called, ` +
          "because GraphQL does not run interceptors for fields. Add 'interceptors' to fieldResolverEnhancers in the options of GraphQLModule.",
      },
    ];
  }

  /** Only for Express: Fastify does not show its setting, and its `get` declares a route. */
  private trustInAllProxies(): Warning[] {
    const { httpAdapter } = this;
    if (httpAdapter?.getType() !== 'express') return [];
    const express = httpAdapter.getInstance<{ get?: (setting: string) => unknown }>();
    if (express.get?.('trust proxy') !== true) return [];
    return [
      {
        code: 'FREQ_LIMIT_TRUST_PROXY_ALL',
        message:
          'Express\'s "trust proxy" is true, so the IP of a request is the first entry of X-Forwarded-For, which the client ' +
          "can write. Name your proxies, for example app.set('trust proxy', 'loopback'), or set how many there are.",
      },
    ];
  }

  private get hasHttp(): boolean {
    return Boolean(this.httpAdapter);
  }

  /** An application without HTTP has none, although the type does not say so. */
  private get httpAdapter(): HttpAdapterHost['httpAdapter'] | undefined {
    return this.http.httpAdapter;
  }
}
