import { BadRequestException, type ExecutionContext, type HttpException } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { jest } from '@jest/globals';
import { Adapters } from '../../src/contexts/adapters.js';
import type { ContextAdapter } from '../../src/contexts/context-adapter.js';
import { FreqLimitError } from '../../src/core/errors.js';
import type { Store } from '../../src/core/store.js';
import { findDecision, takeUnsettled } from '../../src/decisions/decisions.js';
import { VerdictEvents } from '../../src/decisions/events.js';
import { isFreqLimitExceeded } from '../../src/answers/freq-limit.exception.js';
import { FreqLimitGuard } from '../../src/freq-limit.guard.js';
import type { ResolvedOptions } from '../../src/freq-limit.options.js';
import type { FreqLimitPlans } from '../../src/plans/plans.js';
import { type Plan, planOf } from '../../src/rules/plan.js';
import type { FreqLimitRule } from '../../src/rules/rule.js';
import { captureLog } from '../support/log.js';
import { declared, DEFAULTS, OWNER, result } from './fixtures.js';

class Sms {
  send(): void {}
}

interface Parts {
  /** `undefined`: no rule applies to the handler. */
  readonly rules?: readonly Partial<FreqLimitRule>[] | undefined;
  readonly options?: Partial<ResolvedOptions>;
  readonly consume?: Store['consume'];
  readonly adapters?: Readonly<Record<string, ContextAdapter>>;
}

const allowed: Store['consume'] = (checks) => checks.map(({ name }) => result({ name }));
const denied: Store['consume'] = (checks) =>
  checks.map(({ name }) => result({ name, allowed: false, remaining: 0, retryAfterMs: 8_000 }));

/** A guard with a store that is a function, and the names of the steps in the order in which they ran. */
function guardWith({ rules = [{}], options, consume = allowed, adapters = {} }: Parts) {
  const steps: string[] = [];
  const plan = planFor(rules);
  const plans = {
    of: () => {
      steps.push('plan');
      return plan;
    },
  };
  const store = {
    consume: jest.fn<Store['consume']>((...args) => {
      steps.push('consume');
      return consume(...args);
    }),
    settle: jest.fn<Store['settle']>((_, results) => [...results]),
  };
  const resolved: Partial<ResolvedOptions> = {
    headers: 'retry-after',
    errorFormat: 'nest',
    ipv6Subnet: 64,
    onVerdict: () => steps.push('report'),
    ...options,
  };
  const http = {
    httpAdapter: { isHeadersSent: () => false, setHeader: () => steps.push('header') },
  };
  const guard = new FreqLimitGuard(
    store as unknown as Store,
    plans as unknown as FreqLimitPlans,
    resolved as ResolvedOptions,
    new Adapters(http as never, adapters),
    new VerdictEvents(resolved as ResolvedOptions),
    http as never,
    { getGlobalGuards: () => [] } as never,
  );
  return { guard, store, steps };
}

function planFor(rules: readonly Partial<FreqLimitRule>[]): Plan | undefined {
  const level = {
    rules: rules.map((rule) => declared({ window: '1m', limit: 10, ...rule })),
    skip: undefined,
  };
  return planOf([level], OWNER, DEFAULTS);
}

function contextOf(request: object = {}, type = 'http'): ExecutionContext {
  const response = { header: () => undefined };
  const args = [{ ip: '203.0.113.7', headers: {}, ...request }, response];
  const context = new ExecutionContextHost(args, Sms, Sms.prototype.send);
  context.setType(type as 'http');
  return context;
}

async function errorOf(run: Promise<unknown> | boolean): Promise<Error> {
  try {
    await run;
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

const log = captureLog();

describe('an allowed request', () => {
  it('passes the five steps in their order', async () => {
    const { guard, steps, store } = guardWith({
      rules: [
        {
          key: () => {
            steps.push('resolve');
            return 'key';
          },
        },
      ],
      options: {
        headers: 'draft',
        skipIf: () => {
          steps.push('skip');
          return false;
        },
      },
    });
    expect(await guard.canActivate(contextOf())).toBe(true);
    expect([...new Set(steps)]).toEqual(['plan', 'skip', 'resolve', 'consume', 'header', 'report']);
    expect(store.consume).toHaveBeenCalledTimes(1);
  });

  it('sends all checks in one call', async () => {
    const { guard, store } = guardWith({ rules: [{ name: 'a' }, { name: 'b', window: '1h' }] });
    await guard.canActivate(contextOf());
    expect(store.consume.mock.calls.map(([checks]) => checks.map(({ name }) => name))).toEqual([['a', 'b']]);
  });

  it('waits for functions and for a store that answers later', async () => {
    const { guard } = guardWith({
      rules: [{ limit: async () => 5 }],
      options: { skipIf: async () => false },
      consume: async (checks) => denied(checks),
    });
    expect(isFreqLimitExceeded(await errorOf(guard.canActivate(contextOf())))).toBe(true);
  });

  it('needs no promise if nothing has to wait', () => {
    expect(guardWith({}).guard.canActivate(contextOf())).toBe(true);
    expect(guardWith({ rules: undefined }).guard.canActivate(contextOf())).toBe(true);
  });

  it('saves the decision for its handler only if the plan needs it', async () => {
    const [plain, counting] = [contextOf(), contextOf()];
    await guardWith({}).guard.canActivate(plain);
    await guardWith({ rules: [{ countWhen: 'failure' }] }).guard.canActivate(counting);
    expect(findDecision(plain)).toBeUndefined();
    expect(findDecision(counting)?.verdict.allowed).toBe(true);
  });

  it('is refunded when its decision is settled, in one call', async () => {
    const { guard, store } = guardWith({ rules: [{ name: 'a', countWhen: 'failure' }, { name: 'b' }] });
    const context = contextOf();
    await guard.canActivate(context);
    expect(store.consume.mock.calls[0]?.[1]).toBe(true);
    await takeUnsettled(context)?.settle?.({ succeeded: true, error: undefined });
    expect(store.settle.mock.calls.map(([checks]) => checks.map(({ name }) => name))).toEqual([['a']]);
    expect(takeUnsettled(context)).toBeUndefined();
  });
});

describe('a request without limits', () => {
  it.each<[string, Parts, object?]>([
    ['its handler has no plan', { rules: [] }],
    ['skipIf of the module returns true', { options: { skipIf: () => true } }],
    ['skipIf of the module resolves to true', { options: { skipIf: async () => true } }],
    [
      'its address is skipped',
      { options: { isSkipped: ({ addressText }) => addressText === '203.0.113.7' } },
    ],
    ['no rule applies', { rules: [{ skipIf: () => true }] }],
    ['a rule skips requests without its key', { rules: [{ key: '{body.phone}', onMissingKey: 'skip' }] }],
  ])('passes without a call of the store if %s', async (_, parts) => {
    const { guard, store, steps } = guardWith(parts);
    expect(await guard.canActivate(contextOf())).toBe(true);
    expect(store.consume).not.toHaveBeenCalled();
    expect(steps).not.toContain('report');
  });

  it.each([1, 'true', {}, undefined])('needs exactly true from skipIf, not %p', async (answer) => {
    const { guard, store } = guardWith({ options: { skipIf: () => answer } });
    await guard.canActivate(contextOf());
    expect(store.consume).toHaveBeenCalledTimes(1);
  });
});

describe('a denied request', () => {
  it('gets the exception after headers and hooks, and has no decision', async () => {
    const { guard, steps } = guardWith({ rules: [{ countWhen: 'failure' }], consume: denied });
    const context = contextOf();
    const error = await errorOf(guard.canActivate(context));
    expect(isFreqLimitExceeded(error) && error.verdict.tightest?.retryAfterMs).toBe(8_000);
    expect(steps).toEqual(['plan', 'consume', 'header', 'report']);
    expect(findDecision(context)).toBeUndefined();
  });

  it('gets the error of the adapter of its context', async () => {
    class Own extends Error {}
    const { guard } = guardWith({
      consume: denied,
      adapters: { queue: { request: () => ({ ip: '203.0.113.7' }), toError: () => new Own('denied') } },
    });
    expect(await errorOf(guard.canActivate(contextOf({}, 'queue')))).toBeInstanceOf(Own);
  });

  it('gets what exceptionFactory makes, as it is', async () => {
    class Own extends Error {}
    const { guard } = guardWith({ consume: denied, options: { exceptionFactory: () => new Own('denied') } });
    expect(await errorOf(guard.canActivate(contextOf()))).toBeInstanceOf(Own);
    expect(log.lines).toEqual([]);
  });
});

describe('a request without the value of a key', () => {
  const rules = [
    { key: '{body.phone}', onMissingKey: 'deny' as const },
    { name: 'other', key: 'all' },
  ];

  it('gets 400, and nothing is counted or logged', async () => {
    const { guard, steps } = guardWith({ rules });
    expect(await errorOf(guard.canActivate(contextOf()))).toBeInstanceOf(BadRequestException);
    expect(steps).toEqual(['plan']);
    expect(log.lines).toEqual([]);
  });

  it('gets the error of the adapter of its context', async () => {
    const toError = (exception: HttpException): Error => new Error(`status ${exception.getStatus()}`);
    const { guard } = guardWith({ rules, adapters: { queue: { toError } } });
    expect((await errorOf(guard.canActivate(contextOf({}, 'queue')))).message).toBe('status 400');
  });
});

describe('a failure', () => {
  const failed = new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'no answer');
  const unavailable = (): never => {
    throw failed;
  };

  it.each<[string, Store['consume']]>([
    ['at once', unavailable],
    ['later', () => Promise.reject(failed)],
  ])('of the store %s is 503 with the cause, and no line of the guard', async (_, consume) => {
    const { guard } = guardWith({ consume });
    const error = await errorOf(guard.canActivate(contextOf()));
    expect([(error as HttpException).getStatus(), error.cause]).toEqual([503, failed]);
    expect(log.lines).toEqual([]);
  });

  const boom = (): never => {
    throw new Error('boom');
  };
  it.each<[string, Parts, string]>([
    ['a function of a rule', { rules: [{ limit: boom }] }, 'FREQ_LIMIT_RULE_FAILED'],
    ['an async function of a rule', { rules: [{ limit: async () => boom() }] }, 'FREQ_LIMIT_RULE_FAILED'],
    ['skipIf of the module', { options: { skipIf: boom } }, 'FREQ_LIMIT_RULE_FAILED'],
    ['the store by a mistake', { consume: boom }, 'FREQ_LIMIT_GUARD_FAILED'],
    ['an adapter', { adapters: { http: { request: boom } } }, 'FREQ_LIMIT_GUARD_FAILED'],
  ])('of %s is 500 without details, and one line', async (_, parts, code) => {
    const { guard } = guardWith(parts);
    const error = (await errorOf(guard.canActivate(contextOf()))) as HttpException;
    expect([error.getStatus(), error.message]).toEqual([500, 'Internal Server Error']);
    expect(log.lines).toEqual([expect.stringMatching(`^${code}: .*boom$`)]);
  });

  it.each<[string, Parts, number]>([
    ['a denied request', { consume: denied }, 429],
    ['a request without the value of a key', { rules: [{ key: '{body.phone}', onMissingKey: 'deny' }] }, 400],
    ['a request without an answer of the store', { consume: unavailable }, 503],
    ['a request with an error of a rule', { rules: [{ limit: boom }] }, 500],
  ])('of an adapter, which returns no error, never lets %s pass', async (_, parts, status) => {
    for (const made of [undefined, null, Promise.resolve(undefined)]) {
      const adapters = { http: { toError: () => made as unknown as Error } };
      const { guard } = guardWith({ ...parts, adapters });
      const error = (await errorOf(guard.canActivate(contextOf()))) as HttpException;
      expect(error.getStatus()).toBe(status);
      expect(log.withCode('FREQ_LIMIT_ADAPTER_FAILED')).toHaveLength(1);
      log.clear();
    }
  });

  it('of a shadow rule leaves that rule out', async () => {
    const { guard, store } = guardWith({
      rules: [{ name: 'tried', shadow: true, limit: boom }, { name: 'real' }],
    });
    expect(await guard.canActivate(contextOf())).toBe(true);
    expect(store.consume.mock.calls[0]?.[0].map(({ name }) => name)).toEqual(['real']);
    expect(log.lines).toEqual([expect.stringMatching(/^FREQ_LIMIT_SHADOW_FAILED: .*boom$/)]);
  });
});

describe('several calls with one context', () => {
  it('count once and share the decision, also a denial', async () => {
    const { guard, store } = guardWith({ consume: denied });
    const second = guardWith({ consume: denied });
    const context = contextOf();
    const errors = [
      await errorOf(guard.canActivate(context)),
      await errorOf(second.guard.canActivate(context)),
    ];
    expect(errors[0]).toBe(errors[1]);
    expect(store.consume).toHaveBeenCalledTimes(1);
    expect(second.store.consume).not.toHaveBeenCalled();
  });

  it('count each time if one guard is called more often than it is declared', async () => {
    const { guard, store } = guardWith({});
    const context = contextOf();
    await guard.canActivate(context);
    await guard.canActivate(context);
    expect(store.consume).toHaveBeenCalledTimes(2);
  });

  it('count each time if the application made the context', async () => {
    const { guard, store } = guardWith({});
    const host = contextOf();
    const own = {
      getType: () => host.getType(),
      getClass: () => host.getClass(),
      getHandler: () => host.getHandler(),
      getArgs: () => host.getArgs<unknown[]>(),
      getArgByIndex: (index: number) => host.getArgByIndex<unknown>(index),
    } as unknown as ExecutionContext;
    await guard.canActivate(own);
    await guard.canActivate(own);
    expect(store.consume).toHaveBeenCalledTimes(2);
  });
});
