import { type CanActivate, type ExecutionContext, Injectable, Scope } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  Args,
  Field,
  GqlExecutionContext,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { AppModule } from '../../examples/graphql/app.module.js';
import { MessagesResolver } from '../../examples/graphql/messages.resolver.js';
import { FreqLimit, SkipFreqLimit } from 'nestjs-freq-limit';
import { serve } from '../support/app.js';
import { execute, executeBatch, DENIED, DRIVERS, fields, startGraphql } from '../support/graphql.js';
import { redisSuite } from '../support/redis-suite.js';
import { countsOf, keysOf, redisUrl } from '../support/redis.js';

const suite = redisSuite();

const inRedis = () => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

const counted = (): Promise<number[]> => countsOf(suite.client, suite.namespace);

@InputType()
class Login {
  @Field()
  name!: string;
}

@Resolver()
class Fields {
  @Query(() => Int, { nullable: true })
  free() {
    return 1;
  }
  @Query(() => Int, { nullable: true })
  @FreqLimit('1m', 3, '{ip}')
  three() {
    return 3;
  }
  @Mutation(() => Int, { nullable: true })
  @FreqLimit('1m', 1, '{body.phone}')
  send(@Args('phone') phone: string) {
    return phone.length;
  }
  @Mutation(() => Int, { nullable: true })
  @FreqLimit('1m', 1, '{body.input.name}')
  login(@Args('input') input: Login) {
    return input.name.length;
  }
  @Query(() => Int, { nullable: true })
  @FreqLimit('1m', 1, '{headers.x-api-key}')
  byHeader() {
    return 1;
  }
  @Query(() => Int, { nullable: true })
  @FreqLimit({ window: '1m', limit: 2, key: '{user.id}', onMissingKey: 'deny' })
  byUser() {
    return 1;
  }
  @Query(() => Int)
  @FreqLimit('1m', 0)
  never() {
    return 1;
  }
}

@Resolver()
@FreqLimit({ window: '1m', limit: 2, name: 'class' })
class OfClass {
  @Query(() => Int, { nullable: true })
  a() {
    return 1;
  }
  @Query(() => Int, { nullable: true })
  b() {
    return 2;
  }
  @Query(() => Int, { nullable: true })
  @SkipFreqLimit()
  c() {
    return 3;
  }
}

describe.each(DRIVERS)('resolvers of %s', (driver) => {
  it('are limited by rules of the module, of the class and of the handler', async () => {
    const rules = [{ window: '1m', limit: 4, name: 'module' } as const];
    const { url } = await startGraphql(driver, {
      resolvers: [Fields, OfClass],
      limits: { ...inRedis(), rules },
    });
    expect(await fields(4, 'three', () => execute(url, '{ three }'))).toEqual([3, 3, 3, 'TOO_MANY_REQUESTS']);
    expect(await fields(2, 'free', () => execute(url, '{ free }'))).toEqual([1, 'TOO_MANY_REQUESTS']);
    expect(await fields(2, 'c', () => execute(url, '{ c }'))).toEqual([3, 3]);
    expect((await counted()).sort()).toEqual([3, 4]);
  });

  it('share a rule of their class', async () => {
    const { url } = await startGraphql(driver, { resolvers: [OfClass], limits: inRedis() });
    const { data, errors } = await execute(url, '{ a b c }');
    expect({ data, errors }).toEqual({ data: { a: 1, b: 2, c: 3 }, errors: [] });
    expect(await execute(url, '{ a b c }')).toMatchObject({
      status: 200,
      data: { a: null, b: null, c: 3 },
      errors: [DENIED, DENIED],
    });
    expect(await counted()).toEqual([2]);
  });

  it('return an error when denied, while other resolvers of the operation return values', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits: inRedis() });
    const send = () => execute(url, 'mutation { send(phone: "138") free: login(input: { name: "ann" }) }');
    expect(await send()).toMatchObject({ status: 200, data: { send: 3, free: 3 }, errors: [] });
    expect(await execute(url, 'mutation { send(phone: "138") login(input: { name: "bob" }) }')).toMatchObject(
      {
        status: 200,
        data: { send: null, login: 3 },
        errors: [DENIED],
      },
    );
  });

  it('set the whole data to null when denied if their type is not nullable', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits: inRedis() });
    expect(await execute(url, '{ free never }')).toMatchObject({ status: 200, data: null, errors: [DENIED] });
  });

  it('count each call of an operation, also aliases, and never exceed the limit', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits: inRedis() });
    const aliases = Array.from({ length: 10 }, (_, i) => `a${i}: three`).join(' ');
    const { data, errors } = await execute(url, `{ ${aliases} }`);
    expect(Object.values(data!).filter((value) => value === 3)).toHaveLength(3);
    expect(errors).toEqual(Array(7).fill(DENIED));
    expect(await counted()).toEqual([3]);
  });

  it('count each operation of a batch', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits: inRedis() });
    const answers = await executeBatch(url, ['{ three free }', '{ three }', '{ three }', '{ three free }']);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers.filter(({ data }) => data?.['three'] === 3)).toHaveLength(3);
    expect(answers.filter(({ data }) => data?.['free'] === 1)).toHaveLength(2);
    expect(answers.flatMap(({ errors }) => errors)).toEqual([DENIED]);
    expect(await counted()).toEqual([3]);
  });

  it('are charged by all of their rules or none', async () => {
    @Resolver()
    class Both {
      @Query(() => Int, { nullable: true })
      @FreqLimit({ window: '1m', limit: 1, name: 'minute' })
      @FreqLimit({ window: '1d', limit: 10, name: 'day' })
      both() {
        return 1;
      }
    }
    const { url } = await startGraphql(driver, { resolvers: [Both], limits: inRedis() });
    await execute(url, '{ a: both b: both c: both }');
    expect(await counted()).toEqual([1, 1]);
  });

  it('are limited when request-scoped', async () => {
    @Resolver()
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @Query(() => Int, { nullable: true })
      @FreqLimit('1m', 2)
      scoped() {
        return 1;
      }
    }
    const { url } = await startGraphql(driver, { resolvers: [Scoped], limits: inRedis() });
    const { data, errors } = await execute(url, '{ a: scoped b: scoped c: scoped }');
    expect(Object.values(data!).filter((value) => value === 1)).toHaveLength(2);
    expect(errors).toEqual([DENIED]);
    expect(await fields(1, 'scoped', () => execute(url, '{ scoped }'))).toEqual(['TOO_MANY_REQUESTS']);
  });

  it('return SERVICE_UNAVAILABLE if the store cannot count and onStoreError is deny', async () => {
    const limits = { redis: 'redis://127.0.0.1:1', onStoreError: 'deny' as const };
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits });
    const { headers, ...answer } = await execute(url, '{ three free }');
    expect(answer).toEqual({
      status: 200,
      data: { three: null, free: 1 },
      errors: [
        {
          message: 'The request limit cannot be checked right now. Try again later.',
          code: 'SERVICE_UNAVAILABLE',
          retryAfter: undefined,
        },
      ],
    });
    expect(headers.get('retry-after')).toBe('1');
  });
});

describe.each(DRIVERS)('keys of resolvers of %s', (driver) => {
  it('read the arguments as the body', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits: inRedis() });
    const send = (phone: string) => () =>
      execute(url, 'mutation ($phone: String!) { send(phone: $phone) }', { phone });
    expect(await fields(2, 'send', send('138'))).toEqual([3, 'TOO_MANY_REQUESTS']);
    expect(await fields(2, 'send', send('1390'))).toEqual([4, 'TOO_MANY_REQUESTS']);
    const login = (name: string) => () =>
      execute(url, 'mutation ($name: String!) { login(input: { name: $name }) }', { name });
    expect(await fields(2, 'login', login('ann'))).toEqual([3, 'TOO_MANY_REQUESTS']);
    expect(await fields(2, 'login', login('bo'))).toEqual([2, 'TOO_MANY_REQUESTS']);
  });

  it('read the headers of the request', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits: inRedis() });
    const by = (key: string) => () => execute(url, '{ byHeader }', {}, { 'x-api-key': key });
    expect(await fields(2, 'byHeader', by('a'))).toEqual([1, 'TOO_MANY_REQUESTS']);
    expect(await fields(2, 'byHeader', by('b'))).toEqual([1, 'TOO_MANY_REQUESTS']);
  });

  it('read the address, and not an untrusted forwarded header', async () => {
    const { url } = await startGraphql(driver, { resolvers: [Fields], limits: inRedis() });
    let n = 0;
    const spoof = () => execute(url, '{ three }', {}, { 'x-forwarded-for': `198.51.100.${n++}` });
    expect(await fields(4, 'three', spoof)).toEqual([3, 3, 3, 'TOO_MANY_REQUESTS']);
    const [key] = await keysOf(suite.client, suite.namespace);
    expect(key).toMatch(/:127\.0\.0\.1$/);
  });

  it('read the user that an earlier guard has set', async () => {
    @Injectable()
    class AuthGuard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        interface Operation {
          readonly req: { readonly headers: Record<string, string>; user?: object };
        }
        const { req } = GqlExecutionContext.create(context).getContext<Operation>();
        const id = req.headers['x-user'];
        if (id !== undefined) req.user = { id };
        return true;
      }
    }
    @Injectable()
    class AuthModule {}
    const { url } = await startGraphql(driver, {
      imports: [{ module: AuthModule, providers: [{ provide: APP_GUARD, useClass: AuthGuard }] }],
      resolvers: [Fields],
      limits: inRedis(),
    });
    const by = (user: string) => () => execute(url, '{ byUser }', {}, { 'x-user': user });
    expect(await fields(3, 'byUser', by('ann'))).toEqual([1, 1, 'TOO_MANY_REQUESTS']);
    expect(await fields(3, 'byUser', by('bob'))).toEqual([1, 1, 'TOO_MANY_REQUESTS']);
    expect((await execute(url, '{ byUser }')).errors).toEqual([
      {
        message: 'Missing required value: user.id',
        code: 'BAD_REQUEST',
        retryAfter: undefined,
      },
    ]);
  });

  it('that fail cause an internal error of their resolver only, and charge nothing', async () => {
    @Resolver()
    class Failing {
      @Query(() => Int, { nullable: true })
      @FreqLimit({ window: '1m', limit: 1, key: () => Promise.reject(new Error('secret')), name: 'a' })
      @FreqLimit({
        window: '1m',
        limit: 1,
        name: 'b',
        key: () => {
          throw new Error('secret');
        },
      })
      failing() {
        return 1;
      }
      @Query(() => Int, { nullable: true })
      fine() {
        return 1;
      }
    }
    const { url } = await startGraphql(driver, { resolvers: [Failing], limits: inRedis() });
    expect(await execute(url, '{ failing fine }')).toMatchObject({
      status: 200,
      data: { failing: null, fine: 1 },
      errors: [{ message: 'Internal Server Error', code: 'INTERNAL_SERVER_ERROR', retryAfter: undefined }],
    });
    expect(await counted()).toEqual([]);
  });
});

@ObjectType()
class Item {
  @Field(() => Int)
  id!: number;
}

@Resolver(() => Item)
@FreqLimit({ window: '1m', limit: 10, name: 'class' })
class Items {
  @Query(() => [Item], { nullable: true })
  items() {
    return Array.from({ length: 50 }, (_, id) => ({ id }));
  }
  @ResolveField(() => Int, { nullable: true })
  plain(@Parent() { id }: Item) {
    return id;
  }
  @ResolveField(() => Int, { nullable: true })
  @FreqLimit('1m', 30)
  costly(@Parent() { id }: Item) {
    return id;
  }
}

describe.each(DRIVERS)('fields of results of %s', (driver) => {
  const rules = [{ window: '1m', limit: 10, name: 'module' } as const];
  const ids = Array.from({ length: 50 }, (_, id) => id);
  const guarded = { fieldResolverEnhancers: ['guards'] };

  it('count nothing without rules: a list of fifty is one request', async () => {
    const { url } = await startGraphql(driver, {
      resolvers: [Items],
      limits: { ...inRedis(), rules },
      options: guarded,
    });
    const { data, errors } = await execute(url, '{ items { id plain } }');
    expect(errors).toEqual([]);
    expect(data!['items']).toEqual(ids.map((id) => ({ id, plain: id })));
    expect(await counted()).toEqual([1, 1]);
  });

  it('count each call by their own rule only', async () => {
    const { url } = await startGraphql(driver, {
      resolvers: [Items],
      limits: { ...inRedis(), rules },
      options: guarded,
    });
    const { data, errors } = await execute(url, '{ items { costly } }');
    const values = (data!['items'] as { costly: number | null }[]).map(({ costly }) => costly);
    expect(values.filter((value) => value !== null)).toHaveLength(30);
    expect(errors).toEqual(Array(20).fill(DENIED));
    expect((await counted()).sort((a, b) => a - b)).toEqual([1, 1, 30]);
  });

  it('are not guarded if the driver does not enable guards for them', async () => {
    const { url } = await startGraphql(driver, {
      resolvers: [Items],
      limits: { ...inRedis(), rules },
    });
    const { data, errors } = await execute(url, '{ items { costly } }');
    expect(errors).toEqual([]);
    expect(data!['items']).toEqual(ids.map((costly) => ({ costly })));
    expect(await counted()).toEqual([1, 1]);
  });
});

describe.each(DRIVERS)('the example on %s', (driver) => {
  it('counts messages once, codes by phone, and translations one by one', async () => {
    const { url } = await startGraphql(driver, {
      resolvers: [MessagesResolver],
      limits: inRedis(),
      options: { fieldResolverEnhancers: ['guards'] },
    });
    const all = await execute(url, '{ messages(first: 50) { id size } }');
    expect(all.errors).toEqual([]);
    expect(all.data!['messages']).toHaveLength(50);
    expect(await counted()).toEqual([1]);
    const translated = await execute(url, '{ messages(first: 31) { translation } }');
    expect(translated.errors).toEqual([DENIED]);
    const code = () => execute(url, 'mutation { sendCode(phone: "138") }');
    expect(await fields(2, 'sendCode', code)).toEqual([true, 'TOO_MANY_REQUESTS']);
  });
});

describe('the application of the example', () => {
  it('allows an address ten requests a second and thirty translations', async () => {
    const { url } = await serve('express', { imports: [AppModule] });
    const aliases = Array.from({ length: 11 }, (_, i) => `m${i}: messages(first: 1) { id }`).join(' ');
    const { errors } = await execute(url, `{ ${aliases} }`);
    expect(errors).toEqual([
      { message: 'Too many requests. Try again in 1 second.', code: 'TOO_MANY_REQUESTS', retryAfter: 1 },
    ]);
    const { url: other } = await serve('express', { imports: [AppModule] });
    const translated = await execute(other, '{ messages(first: 31) { size translation } }');
    expect(translated.data!['messages']).toHaveLength(31);
    expect(translated.errors).toEqual([DENIED]);
  });
});
