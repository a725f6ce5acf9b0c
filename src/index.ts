export { FreqLimit } from './decorators/freq-limit.decorator.js';
export { SkipFreqLimit } from './decorators/skip-freq-limit.decorator.js';
export { FreqLimitVerdict } from './decorators/freq-limit-verdict.decorator.js';
export { FreqLimitCharge } from './decorators/freq-limit-charge.decorator.js';
export type { FreqLimitCharges, SettleableVerdict } from './decisions/charge.js';
export {
  type ExceededError,
  FreqLimitExceededException,
  isFreqLimitExceeded,
} from './answers/freq-limit.exception.js';
export { FreqLimitGuard } from './freq-limit.guard.js';
export {
  type FreqLimitHealth,
  FreqLimitHealthIndicator,
  type FreqLimitHealthOptions,
} from './freq-limit.health-indicator.js';
export { FreqLimitModule } from './freq-limit.module.js';
export type { FreqLimitModuleExtras, FreqLimitOptionsFactory } from './freq-limit.module-definition.js';
export type { FreqLimitOptions } from './freq-limit.options.js';
export type { FreqLimitEvent, FreqLimitHook } from './decisions/events.js';
export { FreqLimitService } from './freq-limit.service.js';
export type { Held, HoldResult } from './leases/held-work.js';
export type { ConsumeOptions } from './rules/service-options.js';
export type {
  ConcurrencyCheck,
  CounterCheck,
  FreqLimitCheck,
  HoldCheck,
  RuleCheck,
  SimpleCheck,
  TokenBucketCheck,
  WindowCheck,
} from './rules/service-check-types.js';
export { FreqLimitError, type FreqLimitErrorCode, isFreqLimitError } from './core/errors.js';
export type { ContextAdapter } from './contexts/context-adapter.js';
export type { MaybePromise } from './core/maybe-promise.js';
export type { ClientRequest } from './core/request.js';
export type { ExceptionFactory } from './answers/answer-options.js';
export type { Denial } from './answers/denial.js';
export type { ErrorFormat } from './answers/error-body.js';
export type { CheckResult, OnStoreError, Source } from './core/check.js';
export type { HashKeys } from './core/key-hash.js';
export type { Verdict } from './core/verdict.js';
export type { HeadersOption } from './answers/headers.js';
export type {
  ActualCost,
  Algorithm,
  AnyNamedRule,
  AnyRule,
  ConcurrencyRule,
  CountWhen,
  DenialMessage,
  FreqLimitRule,
  HoldFor,
  KeyPart,
  KeySpec,
  KeyValue,
  NamedRule,
  Normalize,
  FromContext,
  OnMissingKey,
  Outcome,
  RuleChanges,
  Scope,
  SimpleRule,
  TokenBucketRule,
  Window,
  WindowRule,
} from './rules/rule.js';
export type { CalendarWindow, MonthName, Weekday } from './rules/calendar/calendar-window.js';
export { defineRule, type RuleDefinition } from './rules/define-rule.js';
export { parseWindow } from './rules/from-configuration.js';
export type { NamedRules } from './rules/named-rules.js';
export type { HashTag } from './store/redis/hash-tags.js';
export type { RedisClient, RedisOption } from './store/redis/redis-option.js';
export type {
  RedisClusterClientOptions,
  RedisClusterOptions,
  RedisConnectionOptions,
  RedisNatMap,
  RedisNodeOptions,
} from './store/redis/redis-options.js';
export type { StoreHealth } from './core/store.js';
