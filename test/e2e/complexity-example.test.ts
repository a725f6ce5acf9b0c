import { FreqLimitService } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { OrdersModule } from '../../examples/costs/orders.resolver.js';
import { closeApps, serve } from '../support/app.js';
import { post } from '../support/http.js';
import { captureLog } from '../support/log.js';

const log = captureLog();

afterEach(closeApps);

/** The answer of Apollo, with its extensions. */
interface Answer {
  readonly data?: unknown;
  readonly errors?: readonly { readonly message: string; readonly extensions: Record<string, unknown> }[];
  readonly extensions?: { readonly cost: { readonly estimate: number; readonly actual: number } };
}

const POINTS = { name: 'points', window: '1m', limit: 1_000, algorithm: 'token-bucket', key: 'ann' } as const;

async function start() {
  const { app, url } = await serve('express', { imports: [OrdersModule] }, (builder) =>
    useMemoryStore(builder, new TestClock()),
  );
  const limits = app.get(FreqLimitService);
  const send = async (query: string, more: object = {}, headers: object = { authorization: 'ann' }) => {
    const response = await post(`${url}/graphql`, { query, ...more }, { ...headers });
    const { status } = response;
    return {
      status,
      retryAfter: response.headers.get('retry-after'),
      ...((await response.json()) as Answer),
    };
  };
  const used = async () => (await limits.peek(POINTS)).results[0]!.used;
  return { send, used, limits };
}

describe('the cost of an operation', () => {
  it.each([
    // orders; their ids and items; the names of the items
    ['{ orders { id items { name } } }', {}, 1 + 20 * (2 + 5), 1 + 2 * 2 + 3],
    ['{ orders(first: 99) { id } }', {}, 1 + 99, 1 + 2],
    ['{ orders(first: 1000000) { id } }', {}, 1 + 100, 1 + 2],
    ['{ orders(first: -5) { id } }', {}, 1 + 1, 1 + 1],
    ['query ($n: Int!) { orders(first: $n) { id } }', { variables: { n: 99 } }, 1 + 99, 1 + 2],
    ['{ a: orders(first: 9) { id } b: orders(first: 9) { id } }', {}, 2 * (1 + 9), 2 * (1 + 2)],
    ['{ ...O } fragment O on Query { orders(first: 9) { id } }', {}, 1 + 9, 1 + 2],
    ['query A { order(id: 1) { id } } query B { orders { id } }', { operationName: 'A' }, 2, 2],
    // more than the estimate
    ['{ orders(first: 1) { items { name } } }', {}, 1 + 6, 1 + 1 + 2],
  ])('is settled with the fields of the result: %s', async (query, more, estimate, actual) => {
    const { send, used } = await start();
    expect(await send(query, more)).toMatchObject({
      status: 200,
      extensions: { cost: { estimate, actual } },
    });
    expect(await used()).toBe(actual);
    expect(log.lines).toEqual([]);
  });

  it('can be higher than the estimate', async () => {
    const { send, used } = await start();
    const { extensions } = await send('{ __schema { types { name fields { name } } } }');
    expect(extensions!.cost.actual).toBeGreaterThan(extensions!.cost.estimate);
    expect(await used()).toBe(extensions!.cost.actual);
  });

  it('is charged before the operation runs', async () => {
    const { send, used, limits } = await start();
    await limits.consume({ ...POINTS, cost: 990 });
    // 11 points are missing, of which 1,000 flow back in a minute
    const { status, retryAfter, data, errors } = await send('{ orders { id } }');
    expect({ status, retryAfter, data }).toEqual({ status: 429, retryAfter: '1', data: undefined });
    expect(errors).toMatchObject([
      {
        message: 'This operation costs 21 points. Try again in 1 s.',
        extensions: { code: 'TOO_MANY_REQUESTS', retryAfter: 1 },
      },
    ]);
    expect(await used()).toBe(990);
    expect(await send('{ order(id: 1) { id } }')).toMatchObject({ status: 200 });
  });

  it('stays the estimate if a resolver fails', async () => {
    const { send, used } = await start();
    const { errors, extensions } = await send('{ order(id: 7) { id items { name } } }');
    expect([errors?.length, extensions]).toEqual([1, undefined]);
    expect(await used()).toBe(1 + 1 + 6);
  });

  it.each([
    ['{ orders { id }', {}],
    ['{ unknown }', {}],
    ['query ($n: Int!) { orders(first: $n) { id } }', {}],
    ['query ($n: Int!) { orders(first: $n) { id } }', { variables: { n: 'many' } }],
  ])('is not charged if the operation is not valid: %s', async (query, more) => {
    const { send, used } = await start();
    expect((await send(query, more)).errors).toHaveLength(1);
    expect(await used()).toBe(0);
  });

  it('needs a user', async () => {
    const { send } = await start();
    expect(await send('{ orders { id } }', {}, {})).toMatchObject({ status: 401 });
  });
});
