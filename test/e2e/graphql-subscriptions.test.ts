import { type CanActivate, type ExecutionContext, Injectable, type INestApplication } from '@nestjs/common';
import { MercuriusDriver } from '@nestjs/mercurius';
import { APP_GUARD } from '@nestjs/core';
import { GqlExecutionContext, GraphQLModule, Int, Query, Resolver, Subscription } from '@nestjs/graphql';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { MessagesResolver } from '../../examples/graphql/messages.resolver.js';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';
import {
  execute,
  connect,
  DENIED,
  DRIVERS,
  fields,
  startGraphql,
  type Connection,
} from '../support/graphql.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

const opened: Connection[] = [];

function open(...args: Parameters<typeof connect>): Connection {
  const connection = connect(...args);
  opened.push(connection);
  return connection;
}

const served: INestApplication[] = [];

// clients disconnect before their servers stop
afterEach(async () => {
  await Promise.all(opened.splice(0).map((connection) => connection.close()));
  await Promise.all(served.splice(0).map((app) => app.close()));
});

const suite = redisSuite();

const inRedis = () => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

/** Counts by the last part of their key. */
async function counted(): Promise<Record<string, number>> {
  const keys = await keysOf(suite.client, suite.namespace);
  const entries = keys.map(
    async (key) => [key.split(':').at(-1)!, Number(await suite.client.get(key))] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function* upTo<K extends string>(field: K): AsyncGenerator<Record<K, number>> {
  for (let n = 1; n <= 3; n++) yield await Promise.resolve({ [field]: n } as Record<K, number>);
}

@Resolver()
class Ticks {
  @Query(() => Int, { nullable: true })
  @FreqLimit('1m', 1)
  once() {
    return 1;
  }
  @Subscription(() => Int)
  @FreqLimit('1m', 2, '{ip}')
  ticks() {
    return upTo('ticks');
  }
  @Subscription(() => Int, { filter: ({ odd }: { odd: number }) => odd % 2 === 1 })
  @FreqLimit('1m', 1, '{ip}')
  odd() {
    return upTo('odd');
  }
  @Subscription(() => Int)
  @FreqLimit('1m', 1, '{query.token}')
  byToken() {
    return upTo('byToken');
  }
  @Subscription(() => Int)
  @FreqLimit('1m', 1, '{headers.x-api-key}')
  byHeader() {
    return upTo('byHeader');
  }
  @Subscription(() => Int)
  @FreqLimit({ window: '1m', limit: 1, key: '{user.id}', onMissingKey: 'deny' })
  byUser() {
    return upTo('byUser');
  }
  @Subscription(() => Int)
  @FreqLimit({ window: '1m', limit: 2, key: 'fails', countWhen: 'failure' })
  failing() {
    throw new Error('not today');
  }
  @Subscription(() => Int)
  @FreqLimit({ window: '1m', limit: 1, key: 'begins', countWhen: 'failure' })
  beginning() {
    return upTo('beginning');
  }
}

describe.each(DRIVERS)('subscriptions of %s', (driver) => {
  it('are counted once, when they begin, by the address of their connection', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Ticks], limits: inRedis() });
    const one = open(url);
    expect(await one.run('subscription { ticks }', 'ticks')).toEqual({ values: [1, 2, 3], errors: [] });
    expect(await counted()).toEqual({ '127.0.0.1': 1 });
    const other = open(url);
    expect(await other.run('subscription { ticks }', 'ticks')).toEqual({ values: [1, 2, 3], errors: [] });
    expect(await one.run('subscription { ticks }', 'ticks')).toEqual({ values: [], errors: [DENIED] });
    expect(await counted()).toEqual({ '127.0.0.1': 2 });
  });

  it('that are denied leave their connection open', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Ticks], limits: inRedis() });
    const { run } = open(url);
    expect(await run('subscription { odd }', 'odd')).toEqual({ values: [1, 3], errors: [] });
    expect(await run('subscription { odd }', 'odd')).toEqual({ values: [], errors: [DENIED] });
    expect(await run('subscription { ticks }', 'ticks')).toEqual({ values: [1, 2, 3], errors: [] });
    expect(await run('{ once }', 'once')).toEqual({ values: [1], errors: [] });
    expect((await run('{ once }', 'once')).errors).toEqual([DENIED]);
    expect(await fields(1, 'once', () => execute(url, '{ once }'))).toEqual(['TOO_MANY_REQUESTS']);
  });

  it('never exceed the limit when many begin at once', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Ticks], limits: inRedis() });
    const { run } = open(url);
    const all = await Promise.all(Array.from({ length: 6 }, () => run('subscription { ticks }', 'ticks')));
    expect(all.filter(({ values }) => values.length === 3)).toHaveLength(2);
    expect(all.flatMap(({ errors }) => errors)).toEqual(Array(4).fill(DENIED));
    expect(await counted()).toEqual({ '127.0.0.1': 2 });
  });

  it('are counted by the headers of their handshake', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Ticks], limits: inRedis() });
    const a = open(url, { 'x-api-key': 'a' }, '/graphql?token=a%20b&bad=%zz');
    const b = open(url, { 'x-api-key': 'b' }, '/graphql?token=b');
    for (const { run } of [a, b]) {
      expect((await run('subscription { byToken }', 'byToken')).errors).toEqual([]);
      expect((await run('subscription { byToken }', 'byToken')).errors).toEqual([DENIED]);
      expect((await run('subscription { byHeader }', 'byHeader')).errors).toEqual([]);
      expect((await run('subscription { byHeader }', 'byHeader')).errors).toEqual([DENIED]);
    }
    expect(await counted()).toMatchObject({ a: 1, b: 1 });
  });

  it('count as failures if they do not begin, and as successes if they do', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Ticks], limits: inRedis() });
    const { run } = open(url);
    for (let i = 0; i < 3; i++)
      expect((await run('subscription { beginning }', 'beginning')).values).toEqual([1, 2, 3]);
    expect((await run('subscription { failing }', 'failing')).errors[0]?.message).toBe('not today');
    expect((await run('subscription { failing }', 'failing')).errors[0]?.message).toBe('not today');
    expect((await run('subscription { failing }', 'failing')).errors).toEqual([DENIED]);
    expect(await counted()).toEqual({ fails: 2 });
  });

  it('are counted by the user that a guard sets on the request of their context', async () => {
    const ofContext = (context: ExecutionContext) =>
      GqlExecutionContext.create(context).getContext<{ req?: Owner; request?: Owner }>();
    interface Owner {
      user?: object;
    }
    @Injectable()
    class AuthGuard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const { req, request } = ofContext(context);
        (req ?? request)!.user = { id: 'ann' };
        return true;
      }
    }
    @Injectable()
    class AuthModule {}
    const { url } = await startGraphql(driver, {
      imports: [{ module: AuthModule, providers: [{ provide: APP_GUARD, useClass: AuthGuard }] }],
      resolvers: [Ticks],
      limits: inRedis(),
    });
    const { run } = open(url);
    expect(await run('subscription { byUser }', 'byUser')).toEqual({ values: [1, 2, 3], errors: [] });
    expect(await run('subscription { byUser }', 'byUser')).toEqual({ values: [], errors: [DENIED] });
    expect(await counted()).toEqual({ ann: 1 });
  });

  it('without a user are rejected if the rule requires one', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Ticks], limits: inRedis() });
    const { errors } = await open(url).run('subscription { byUser }', 'byUser');
    expect(errors).toEqual([
      {
        message: 'Missing required value: user.id',
        code: 'BAD_REQUEST',
        retryAfter: undefined,
      },
    ]);
  });

  it('of the example may begin five times a minute', async () => {
    const { url } = await startGraphql(driver, { resolvers: [MessagesResolver], limits: inRedis() });
    const { run } = open(url);
    for (let i = 0; i < 5; i++)
      expect((await run('subscription { arrived { id } }', 'arrived')).values).toEqual([{ id: '0' }]);
    expect((await run('subscription { arrived { id } }', 'arrived')).errors).toEqual([DENIED]);
  });
});

describe('a connection to mercurius', () => {
  it('has the values of its first message among its headers', async () => {
    const { url } = await startGraphql('mercurius', { resolvers: [Ticks], limits: inRedis() });
    const { run } = open(url, {}, '/graphql', { 'x-api-key': 'a' });
    expect((await run('subscription { byHeader }', 'byHeader')).errors).toEqual([]);
    expect(await counted()).toEqual({ a: 1 });
  });
});

const from = (address: string) => ({ 'x-forwarded-for': address });

async function tick(url: string, address: string): Promise<unknown> {
  const { values, errors } = await open(url, from(address)).run('subscription { odd }', 'odd');
  return errors[0]?.code ?? values.length;
}

describe.each(DRIVERS)('the address of a connection to %s', (driver) => {
  it('is the one that a trusted proxy forwards', async () => {
    const { url } = await (driver === 'apollo' ? onExpress() : onFastify());
    expect(await tick(url, '6.6.6.1, 198.51.100.9')).toBe(2);
    expect(await tick(url, '6.6.6.2, 198.51.100.9')).toBe('TOO_MANY_REQUESTS');
    expect(await tick(url, '198.51.100.10')).toBe(2);
    expect(await counted()).toEqual({ '198.51.100.9': 1, '198.51.100.10': 1 });
  });

  it('is the peer’s if no proxy is trusted', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Ticks], limits: inRedis() });
    expect(await tick(url, '198.51.100.9')).toBe(2);
    expect(await tick(url, '198.51.100.10')).toBe('TOO_MANY_REQUESTS');
    expect(await counted()).toEqual({ '127.0.0.1': 1 });
  });
});

describe('contexts that applications build for subscriptions of apollo', () => {
  interface Given {
    readonly req?: object;
    readonly extra?: { readonly request: object };
  }
  it.each([
    ['the request of the connection', ({ req, extra }: Given) => ({ req: req ?? extra?.request })],
    ['the connection', ({ extra }: Given) => extra],
    ['nothing', () => undefined],
    ['a request of another kind', ({ extra }: Given) => ({ req: { tenant: 'a' }, extra })],
  ])('from %s have the address', async (_, context) => {
    const { url } = await onExpress({ context });
    expect(await tick(url, '198.51.100.9')).toBe(2);
    expect(await tick(url, '198.51.100.9')).toBe('TOO_MANY_REQUESTS');
    expect(await counted()).toEqual({ '198.51.100.9': 1 });
  });
});

function onExpress(options: object = {}) {
  const trust = (app: INestApplication): void => {
    (app as INestApplication & { set(name: string, value: string): void }).set('trust proxy', 'loopback');
  };
  return startGraphql('apollo', { resolvers: [Ticks], limits: inRedis(), options }, trust);
}

async function onFastify() {
  const module = await Test.createTestingModule({
    imports: [
      FreqLimitModule.forRoot(inRedis()),
      GraphQLModule.forRoot({ driver: MercuriusDriver, autoSchemaFile: true, subscription: true } as never),
    ],
    providers: [Ticks],
  }).compile();
  const app = module.createNestApplication(new FastifyAdapter({ trustProxy: 'loopback' }), { logger: false });
  served.push(app);
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl() };
}
