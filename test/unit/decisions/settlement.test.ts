import { type ExecutionContext, HttpException } from '@nestjs/common';
import { jest } from '@jest/globals';
import type { Check, CheckResult } from '../../../src/core/check.js';
import type { HandlerEnd } from '../../../src/decisions/decisions.js';
import type { EndedRequest, StatusResponse } from '../../../src/decisions/outcome.js';
import { RequestCharges } from '../../../src/decisions/request-charges.js';
import { Settlement } from '../../../src/decisions/settlement.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import type { PlannedCheck } from '../../../src/rules/to-checks.js';
import type { ActualCost, CountWhen, Outcome } from '../../../src/rules/rule.js';
import { MemoryStore } from '../../../src/store/memory/memory-store.js';
import type { Store } from '../../../src/core/store.js';
import { check } from '../../support/check.js';
import { captureLog } from '../../support/log.js';
import { quiet } from '../../support/subjects.js';
import { CONTEXT, declared, DEFAULTS, OWNER, result } from '../fixtures.js';

const log = captureLog();

afterEach(() => jest.restoreAllMocks());

function planned(
  name: string,
  countWhen?: CountWhen,
  parts: { readonly cost?: number; readonly actualCost?: ActualCost } = {},
): PlannedCheck {
  const rule = planRule(declared({ window: '1m', limit: 9, name, countWhen, ...parts }), OWNER, DEFAULTS);
  return { ...check(name, { limit: 9, cost: parts.cost ?? 1 }), rule, aboveShare: undefined };
}

/** The results after a settlement; `undefined` if nothing was settled. */
async function settle(
  store: Store,
  { checks, results }: { checks: readonly PlannedCheck[]; results: readonly CheckResult[] },
  end: HandlerEnd,
  request: Partial<EndedRequest> = {},
  beforeEnd: (charges: RequestCharges) => void = () => undefined,
): Promise<readonly CheckResult[] | undefined> {
  let after: readonly CheckResult[] | undefined;
  const charges = new RequestCharges(store, { checks, results }, true, (settled) => (after = settled));
  beforeEnd(charges);
  const ended = { context: CONTEXT, isHttp: true, response: {}, ...request };
  await new Settlement().settle({ ...ended, checks, charges }, end);
  return after;
}

/** The outcome that a `countWhen` function gets. */
async function outcomeOf(
  end: { succeeded: boolean; error?: unknown },
  response: StatusResponse | undefined,
  context: ExecutionContext = CONTEXT,
): Promise<Omit<Outcome, 'context'> | undefined> {
  let seen: Outcome | undefined;
  const sees = planned('sees', (outcome) => {
    seen = outcome;
    return true;
  });
  const charged = { checks: [sees], results: [result()] };
  const request = { context, isHttp: context === CONTEXT, response };
  const store = new MemoryStore(10, quiet);
  expect(await settle(store, charged, { error: undefined, ...end }, request)).toBeUndefined();
  if (seen === undefined) return undefined;
  const { context: seenContext, ...outcome } = seen;
  expect(seenContext).toBe(context);
  return outcome;
}

const RPC = { getType: () => 'rpc' } as unknown as ExecutionContext;

describe('the outcome of a request', () => {
  const unauthorized = new HttpException('no', 401);
  const own = (more: object): Error => Object.assign(new Error('own'), { statusCode: 413 }, more);
  const fastify = Object.assign(own({}), { name: 'FastifyError' });

  it.each<
    [string, { succeeded: boolean; error?: unknown }, StatusResponse | undefined, boolean, number | undefined]
  >([
    ['a response', { succeeded: true }, { statusCode: 201 }, true, 201],
    ['a response with an error status', { succeeded: true }, { statusCode: 404 }, false, 404],
    ['a response without a status', { succeeded: true }, {}, true, undefined],
    ['a success without a response', { succeeded: true }, undefined, true, undefined],
    ['an HTTP exception', { succeeded: false, error: unauthorized }, { statusCode: 200 }, false, 401],
    ['an error', { succeeded: false, error: new Error('x') }, { statusCode: 200 }, false, 500],
    ['an error with a status of its own', { succeeded: false, error: own({}) }, {}, false, 500],
    ['an error of http-errors', { succeeded: false, error: own({ expose: false }) }, {}, false, 413],
    ['an error of Fastify', { succeeded: false, error: fastify }, {}, false, 413],
    ['a failure without an error', { succeeded: false }, { statusCode: 403 }, false, 403],
  ])('for %s', async (_, end, response, succeeded, statusCode) => {
    expect(await outcomeOf(end, response)).toEqual({ succeeded, statusCode, error: end.error });
  });

  it('without HTTP has a status only if the error has one', async () => {
    const of = (end: { succeeded: boolean; error?: unknown }) => outcomeOf(end, { statusCode: 200 }, RPC);
    expect(await of({ succeeded: true })).toMatchObject({ succeeded: true, statusCode: undefined });
    expect(await of({ succeeded: false, error: unauthorized })).toMatchObject({
      succeeded: false,
      statusCode: 401,
    });
    expect(await of({ succeeded: false, error: 'x' })).toMatchObject({
      succeeded: false,
      statusCode: undefined,
    });
  });

  it('is not evaluated if the client has disconnected', async () => {
    const gone = { statusCode: 200, destroyed: true, writableFinished: false };
    expect(await outcomeOf({ succeeded: true }, gone)).toBeUndefined();
  });
});

describe('a settlement', () => {
  const charge = (store: Store, checks: readonly Check[]): CheckResult[] =>
    store.consume(checks, true) as CheckResult[];
  const ended = { succeeded: true, error: undefined };

  it('refunds the checks that do not count, and returns results in the order of the checks', async () => {
    const store = new MemoryStore(10, quiet);
    const checks = [
      planned('a', 'failure'),
      planned('b'),
      planned('c', 'success'),
      planned('d', () => false),
    ];
    const results = charge(store, checks);
    const settles = jest.spyOn(store, 'settle');
    const after = await settle(store, { checks, results }, ended);
    expect(after?.map(({ name, used }) => [name, used])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 1],
      ['d', 0],
    ]);
    expect(settles).toHaveBeenCalledTimes(1);
  });

  it('logs one line if the store fails', async () => {
    const store = new MemoryStore(10, quiet);
    const checks = [planned('a', 'failure')];
    const results = charge(store, checks);
    jest.spyOn(store, 'settle').mockImplementation(() => {
      throw new Error('gone');
    });
    expect(await settle(store, { checks, results }, ended, { response: undefined })).toBeUndefined();
    expect(log.lines).toEqual(['FREQ_LIMIT_REFUND_FAILED: Refund failed; the request stays counted: gone']);
  });

  const five = { cost: 5, actualCost: () => 2 };

  it('settles real costs, in one call with what does not count', async () => {
    const store = new MemoryStore(10, quiet);
    const checks = [
      planned('a', 'request', five),
      planned('b', 'failure', five),
      planned('c', 'request', { cost: 5, actualCost: async () => 8 }),
      planned('d', 'request', { cost: 5, actualCost: () => 5 }),
      planned('e', 'failure'),
    ];
    const results = charge(store, checks);
    const settles = jest.spyOn(store, 'settle');
    const after = await settle(store, { checks, results }, ended);
    expect(after?.map(({ used }) => used)).toEqual([2, 0, 8, 5, 0]);
    expect(settles.mock.calls.map(([, , costs]) => costs)).toEqual([[2, 0, 8, 0]]);
  });

  it('asks no function for what the handler has settled, unless it does not count', async () => {
    const store = new MemoryStore(10, quiet);
    const never = (): never => {
      throw new Error('called');
    };
    const checks = [
      planned('a', 'request', { cost: 5, actualCost: never }),
      planned('b', 'failure', { cost: 5 }),
    ];
    const results = charge(store, checks);
    const after = await settle(store, { checks, results }, ended, {}, (charges) => {
      void charges.settle(new Map([0, 1].map((index) => [index, 7])));
    });
    expect(after?.map(({ used }) => used)).toEqual([7, 0]);
    expect(log.lines).toEqual([]);
  });

  it.each<[string, HandlerEnd, Partial<EndedRequest>]>([
    ['the handler fails', { succeeded: false, error: new Error('x') }, {}],
    ['the status is an error', ended, { response: { statusCode: 404 } }],
    ['a stream is cut off', { ...ended, isCut: true }, {}],
    ['the client is gone', { ...ended, isGone: true }, {}],
    [
      'the client has disconnected',
      ended,
      { response: { destroyed: true, writableFinished: false } as StatusResponse },
    ],
  ])('keeps the estimate if %s, and settles what the handler says', async (_, end, request) => {
    const store = new MemoryStore(10, quiet);
    const checks = [planned('a', 'request', five), planned('b', 'request', five)];
    const results = charge(store, checks);
    const after = await settle(store, { checks, results }, end, request, (charges) => {
      void charges.settle(new Map([[1, 7]]));
    });
    expect(after?.map(({ used }) => used)).toEqual([5, 7]);
  });

  it('charges a client that has disconnected what its handler has used above the estimate, and refunds nothing', async () => {
    const store = new MemoryStore(10, quiet);
    const eight = { cost: 5, actualCost: () => 8 };
    const checks = [
      planned('a', 'request', eight),
      planned('b', 'request', five),
      planned('c', 'failure'),
      planned('d', 'request', eight),
    ];
    const results = charge(store, checks);
    const response = { destroyed: true, writableFinished: false } as StatusResponse;
    const settleIn = (end: HandlerEnd) =>
      settle(store, { checks, results }, end, { response }, (charges) => {
        void charges.settle(new Map([[3, 7]]));
      });
    const after = await settleIn(ended);
    expect(after?.map(({ used }) => used)).toEqual([8, 5, 1, 7]);
  });

  it('charges no debt for a handler that has failed after its client has disconnected', async () => {
    const store = new MemoryStore(10, quiet);
    const checks = [planned('a', 'request', { cost: 5, actualCost: () => 8 })];
    const results = charge(store, checks);
    const response = { destroyed: true, writableFinished: false } as StatusResponse;
    const failed = { succeeded: false, error: new Error('x') };
    expect(await settle(store, { checks, results }, failed, { response })).toBeUndefined();
  });
});
