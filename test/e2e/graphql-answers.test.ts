import { BadRequestException, ForbiddenException, type INestApplication, UseGuards } from '@nestjs/common';
import {
  Args,
  Field,
  GraphQLSchemaHost,
  Int,
  Mutation,
  ObjectType,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { graphql, GraphQLError } from 'graphql';
import { CountDenials, formatError, slowDown } from '../../examples/graphql/denials.js';
import { FreqLimit, FreqLimitVerdict, type Verdict } from 'nestjs-freq-limit';
import { execute, DENIED, DRIVERS, fields, startGraphql } from '../support/graphql.js';
import { limitHeaders, remaining } from '../support/http.js';
import { captureLog, logLine } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { countsOf, keysOf, redisUrl } from '../support/redis.js';

const suite = redisSuite();
const { lines, withCode } = captureLog();

const inRedis = () => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

const counted = (): Promise<number[]> => countsOf(suite.client, suite.namespace);

@Resolver()
class Shown {
  @Query(() => Int, { nullable: true })
  @FreqLimit({ window: '1m', limit: 9, name: 'nine' })
  nine() {
    return 9;
  }
  @Query(() => Int, { nullable: true })
  @FreqLimit({ window: '1h', limit: 2, name: 'two' })
  two() {
    return 2;
  }
  @Query(() => Int, { nullable: true })
  free() {
    return 1;
  }
}

describe.each(DRIVERS)('headers of a response of %s', (driver) => {
  it('show the tightest verdict of the operation', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Shown], limits: inRedis() });
    expect(limitHeaders(await execute(url, '{ free }'))).toEqual({});
    expect(limitHeaders(await execute(url, '{ nine }'))).toEqual({
      'ratelimit-policy': '"nine";q=9;w=60',
      ratelimit: '"nine";a=8;w=60',
    });
    expect(limitHeaders(await execute(url, '{ two nine free }'))).toEqual({
      'ratelimit-policy': '"two";q=2;w=3600',
      ratelimit: '"two";a=1;w=3600',
    });
    expect(limitHeaders(await execute(url, '{ nine two }'))).toEqual({
      'ratelimit-policy': '"two";q=2;w=3600',
      ratelimit: '"two";a=0;w=3600',
    });
    expect(limitHeaders(await execute(url, '{ nine two free }'))).toEqual({
      'ratelimit-policy': '"two";q=2;w=3600',
      ratelimit: '"two";a=0;w=3600',
      'retry-after': '3600',
    });
  });

  it('are left out with headers: none', async () => {
    const { url } = await startGraphql(driver, {
      resolvers: [Shown],
      limits: { ...inRedis(), headers: 'none' },
    });
    expect(limitHeaders(await execute(url, '{ a: two b: two c: two }'))).toEqual({});
  });
});

@Resolver()
class Keyed {
  @Query(() => Int, { nullable: true })
  @FreqLimit('1m', 1, '{headers.x-api-key}')
  keyed() {
    return 1;
  }
}

/** Contexts that applications build. */
const CONTEXTS: readonly [what: string, context: unknown, isShown: boolean][] = [
  ['a function that adds to the request', ({ req }: { req?: object }) => ({ req, tenant: 'a' }), true],
  [
    'a function that keeps the response',
    ({ req, res }: { req?: object; res?: object }) => ({ req, res }),
    true,
  ],
  ['a function that answers nothing of the request', () => ({ tenant: 'a' }), true],
  ['an object whose response is not one', () => ({ res: { sent: true }, reply: 'none' }), true],
  ['a request without anything', () => ({ req: {}, res: undefined }), false],
];

describe.each(DRIVERS)('a context of %s', (driver) => {
  it.each(CONTEXTS)('from %s is limited', async (_, context, isShown) => {
    const { url } = await startGraphql(driver, {
      resolvers: [Shown],
      limits: inRedis(),
      options: { context },
    });
    expect(await execute(url, '{ two free }')).toMatchObject({ data: { two: 2, free: 1 }, errors: [] });
    const { data, errors, headers } = await execute(url, '{ a: two b: two free }');
    expect(data?.['free']).toBe(1);
    expect(errors).toEqual([{ ...DENIED, message: expect.any(String) as string, retryAfter: 3600 }]);
    expect(headers.get('retry-after')).toBe(isShown || driver === 'mercurius' ? '3600' : null);
    const [key] = await keysOf(suite.client, suite.namespace);
    expect(key).toMatch(isShown || driver === 'mercurius' ? /:127\.0\.0\.1$/ : /:!no-address$/);
  });

  it('missing in a direct call of the schema is counted without an address', async () => {
    const { app } = await startGraphql(driver, { resolvers: [Shown], limits: inRedis() });
    const { schema } = app.get(GraphQLSchemaHost);
    const seen: unknown[] = [];
    for (const contextValue of [undefined, {}, null, { req: null, extra: 'x', user: 'ann' }]) {
      const { data, errors } = await graphql({ schema, source: '{ two }', contextValue });
      seen.push(errors?.[0]?.extensions['code'] ?? data?.['two']);
    }
    expect(seen).toEqual([2, 2, 'TOO_MANY_REQUESTS', 'TOO_MANY_REQUESTS']);
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(1);
  });
});

describe('a context of mercurius', () => {
  it('shared by all requests still has a verdict for each request', async () => {
    const { url } = await startGraphql('mercurius', {
      resolvers: [Keyed],
      limits: inRedis(),
      options: { context: { tenant: 'a' } },
    });
    const by = (key: string) => () => execute(url, '{ keyed }', {}, { 'x-api-key': key });
    expect(await fields(2, 'keyed', by('a'))).toEqual([1, 'TOO_MANY_REQUESTS']);
    expect(await fields(2, 'keyed', by('b'))).toEqual([1, 'TOO_MANY_REQUESTS']);
  });
});

let attempts: (() => unknown)[] = [];

@Resolver()
class Outcomes {
  @Mutation(() => Boolean, { nullable: true })
  @FreqLimit({ window: '1m', limit: 2, countWhen: 'failure', name: 'failures' })
  login(@Args('password') password: string) {
    if (password === 'bad') throw new GraphQLError('Wrong password');
    if (password === 'odd') return new GraphQLError('Wrong password');
    if (password === 'worse') throw new BadRequestException('Wrong password');
    return true;
  }
  @Mutation(() => Boolean, { nullable: true })
  @FreqLimit({ window: '1m', limit: 1, countWhen: 'success', name: 'successes' })
  order(@Args('item') item: string) {
    if (item === 'none') throw new GraphQLError('Not there');
    return true;
  }
  @Mutation(() => Boolean, { nullable: true })
  @FreqLimit({ window: '1m', limit: 1, countWhen: 'success', name: 'guarded' })
  @UseGuards({ canActivate: () => Promise.reject(new ForbiddenException()) })
  guarded() {
    return true;
  }
  @Mutation(() => Boolean, { nullable: true })
  @FreqLimit({ window: '1m', limit: 5, countWhen: ({ error }) => attempts.push(() => error) > 0 })
  failing(@Args('code') code: string) {
    throw new GraphQLError(code);
  }
  @Query(() => String)
  @FreqLimit({ window: '1m', limit: 9, name: 'seen', key: '{body.of}' })
  async verdict(@Args('of') of: string, @FreqLimitVerdict() { tightest, source }: Verdict) {
    await new Promise(setImmediate);
    return `${of} ${String(tightest?.name)} ${String(tightest?.remaining)} ${source}`;
  }
  @Query(() => Int)
  @FreqLimit({ window: '1m', limit: 1, shadow: true, name: 'tried' })
  tried() {
    return 1;
  }
}

describe.each(DRIVERS)('outcomes of resolvers of %s', (driver) => {
  it('count as failures if they throw', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Outcomes], limits: inRedis() });
    const login = (password: string) => execute(url, `mutation { login(password: "${password}") }`);
    expect(await fields(3, 'login', () => login('good'))).toEqual([true, true, true]);
    expect(await counted()).toEqual([]);
    const answer = await login('good');
    expect(remaining(answer)).toEqual({ failures: 2 });
    expect((await login('bad')).errors[0]?.message).toBe('Wrong password');
    expect(remaining(await login('good'))).toEqual({ failures: 1 });
    expect((await login('worse')).errors[0]?.message).toBe('Wrong password');
    expect((await login('good')).errors).toEqual([DENIED]);
    expect(await counted()).toEqual([2]);
  });

  it('count as failures if they return an error', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Outcomes], limits: inRedis() });
    const { errors } = await execute(url, 'mutation { a: login(password: "odd") b: login(password: "odd") }');
    expect(errors.map(({ message }) => message)).toEqual(['Wrong password', 'Wrong password']);
    expect(await counted()).toEqual([2]);
  });

  it('count as successes, each alias separately', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Outcomes], limits: inRedis() });
    const { data, errors } = await execute(
      url,
      'mutation { a: order(item: "none") b: order(item: "none") c: order(item: "one") d: order(item: "one") }',
    );
    expect(data).toEqual({ a: null, b: null, c: true, d: null });
    expect(errors.map(({ message }) => message)).toEqual(['Not there', 'Not there', DENIED.message]);
    expect(await counted()).toEqual([1]);
  });

  it('are not successes if a later guard denies', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Outcomes], limits: inRedis() });
    for (let i = 0; i < 3; i++) {
      const { errors } = await execute(url, 'mutation { guarded }');
      expect(errors.map(({ message }) => message)).toEqual(['Forbidden']);
      while ((await counted()).length > 0) await new Promise(setImmediate);
    }
  });

  it('are passed to a countWhen function with the error', async () => {
    attempts = [];
    const { url } = await startGraphql(driver, { resolvers: [Outcomes], limits: inRedis() });
    await execute(url, 'mutation { failing(code: "E1") }');
    expect(attempts.map((error) => (error() as Error).message)).toEqual(['E1']);
  });

  it('have a verdict for each of several calls', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Outcomes], limits: inRedis() });
    const { data } = await execute(url, '{ a: verdict(of: "x") b: verdict(of: "y") c: verdict(of: "x") }');
    expect(data).toEqual({ a: 'x seen 8 store', b: 'y seen 8 store', c: 'x seen 7 store' });
  });

  it('are counted by a shadow rule, which denies nothing and sends no headers', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Outcomes], limits: inRedis() });
    const { data, errors, headers } = await execute(url, '{ a: tried b: tried c: tried }');
    expect({ data, errors }).toEqual({ data: { a: 1, b: 1, c: 1 }, errors: [] });
    expect(headers.get('ratelimit')).toBeNull();
    // a shadow rule counts what it allows
    expect(await counted()).toEqual([1]);
  });
});

@ObjectType()
class Row {
  @Field(() => Int)
  id!: number;
}

@Resolver(() => Row)
class Rows {
  @Query(() => [Row])
  rows() {
    return [{ id: 1 }, { id: 2 }, { id: 3 }];
  }
  @ResolveField(() => Int, { nullable: true })
  @FreqLimit({ window: '1m', limit: 2, countWhen: 'success', name: 'field' })
  value() {
    return 1;
  }
}

describe.each(DRIVERS)('outcomes of fields of results of %s', (driver) => {
  it.each([
    ['are unknown without interceptors, so every call counts, with one warning', ['guards'], 1],
    ['are known with interceptors', ['guards', 'interceptors'], 0],
  ])('%s', async (_, fieldResolverEnhancers, warnings) => {
    const { url } = await startGraphql(driver, {
      resolvers: [Rows],
      limits: inRedis(),
      options: { fieldResolverEnhancers },
    });
    const { data, errors } = await execute(url, '{ rows { value } }');
    expect(data).toEqual({ rows: [{ value: 1 }, { value: 1 }, { value: null }] });
    expect(errors).toEqual([DENIED]);
    const line = logLine(
      'FREQ_LIMIT_OUTCOME_UNKNOWN',
      'Rules with countWhen count every call of Rows.value, and actualCost is not called, because GraphQL does not run interceptors for fields.',
    );
    expect(withCode('FREQ_LIMIT_OUTCOME_UNKNOWN')).toEqual(Array(warnings).fill(line));
    expect((await execute(url, '{ rows { value } }')).errors).toEqual([DENIED, DENIED, DENIED]);
    expect(await counted()).toEqual([2]);
  });
});

describe.each(DRIVERS)('denials of %s', (driver) => {
  it('reach a filter and are not logged', async () => {
    const filter = new CountDenials();
    const { url } = await startGraphql(
      driver,
      { resolvers: [Shown], limits: inRedis() },
      (app: INestApplication) => {
        app.useGlobalFilters(filter);
      },
    );
    await execute(url, '{ a: two b: two c: two d: two }');
    expect(filter.denials).toBe(2);
    expect(lines).toEqual([]);
  });

  it('are not logged without a filter', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Shown], limits: inRedis() });
    const { errors } = await execute(url, '{ a: two b: two c: two d: two }');
    expect(errors).toHaveLength(2);
    expect(lines).toEqual([]);
  });

  it('become the error of the exceptionFactory', async () => {
    const { url } = await startGraphql(driver, {
      resolvers: [Shown],
      limits: { ...inRedis(), exceptionFactory: slowDown },
    });
    const { errors } = await execute(url, '{ a: two b: two c: two }');
    expect(errors).toEqual([{ message: 'Slow down', code: 'SLOW_DOWN', retryAfter: undefined }]);
  });

  it('have the message of the rule', async () => {
    @Resolver()
    class Own {
      @Query(() => Int, { nullable: true })
      @FreqLimit({ window: '1m', limit: 0, message: 'Come back later', statusCode: 503 })
      own() {
        return 1;
      }
    }
    const { url } = await startGraphql(driver, { resolvers: [Own], limits: inRedis() });
    expect((await execute(url, '{ own }')).errors).toEqual([
      { message: 'Come back later', code: 'SERVICE_UNAVAILABLE', retryAfter: 60 },
    ]);
  });
});

describe('formatError of apollo', () => {
  it('recognizes a denial and its verdict', async () => {
    const { url } = await startGraphql('apollo', {
      resolvers: [Shown],
      limits: inRedis(),
      options: { formatError },
    });
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ a: two b: two c: two }' }),
    });
    const { errors } = (await response.json()) as { errors: { extensions: object }[] };
    expect(errors.map(({ extensions }) => extensions)).toEqual([
      expect.objectContaining({ code: 'TOO_MANY_REQUESTS', retryAfter: 3600, limit: 'two' }),
    ]);
  });
});
