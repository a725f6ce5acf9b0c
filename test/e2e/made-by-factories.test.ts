import { type INestApplication, Injectable, Module, type Provider, Scope, SetMetadata } from '@nestjs/common';
import { ApolloDriver } from '@nestjs/apollo';
import { Args, GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import { ExternalContextCreator, LazyModuleLoader } from '@nestjs/core';
import { FreqLimit, FreqLimitModule, FreqLimitService, isFreqLimitExceeded } from 'nestjs-freq-limit';
import { closeApps, serve, startApp } from '../support/app.js';
import { execute, DRIVERS, fields, startGraphql } from '../support/graphql.js';
import { captureLog, logLine } from '../support/log.js';

// Nest does not know the class of a factory's or value's result, and finds resolvers by the instance.

const { warnings: lines } = captureLog();
afterEach(closeApps);

/** A new class, since preparing an application changes the methods of its classes. */
function newClass() {
  @Resolver()
  class Sms {
    constructor(readonly sender: string) {}
    @Query(() => String, { nullable: true })
    free() {
      return this.sender;
    }
    @Mutation(() => String, { nullable: true })
    @FreqLimit({ window: '1m', limit: 2, name: 'two' })
    send() {
      return this.sender;
    }
    @Mutation(() => String, { nullable: true })
    @FreqLimit({ window: '1m', limit: 1, countWhen: 'success' })
    successes(@Args('fail') fail: boolean) {
      if (fail) throw new Error('failed');
      return this.sender;
    }
    @Mutation(() => String, { nullable: true })
    @FreqLimit({ window: '1m', limit: 1, countWhen: 'failure' })
    failures(@Args('fail') fail: boolean) {
      if (fail) throw new Error('failed');
      return this.sender;
    }
  }
  return Sms;
}

/** The answers of these mutations, one after the other. */
async function answers(url: string, field: string, ...fails: boolean[]): Promise<unknown[]> {
  const seen = [];
  for (const fail of fails) {
    const query = `mutation { ${field}(fail: ${fail}) }`;
    seen.push(...(await fields(1, field, () => execute(url, query))));
  }
  return seen;
}

async function expectLimits(url: string): Promise<void> {
  const sent = await fields(3, 'send', () => execute(url, 'mutation { send }'));
  expect(sent).toEqual(['x', 'x', 'TOO_MANY_REQUESTS']);
  const failed = 'INTERNAL_SERVER_ERROR';
  expect(await answers(url, 'successes', true, true, false, false)).toEqual([
    failed,
    failed,
    'x',
    'TOO_MANY_REQUESTS',
  ]);
  expect(await answers(url, 'failures', false, false, true, false)).toEqual([
    'x',
    'x',
    failed,
    'TOO_MANY_REQUESTS',
  ]);
  expect(lines).toEqual([]);
}

type Way = (make: () => object) => Provider;

const WAYS: [string, Way][] = [
  ['useFactory', (make) => ({ provide: 'sms', useFactory: make })],
  [
    'an async useFactory',
    (make) => ({
      provide: 'sms',
      useFactory: () => new Promise((done) => setImmediate(() => done(make()))),
    }),
  ],
  ['useValue', (make) => ({ provide: 'sms', useValue: make() })],
];

describe.each(DRIVERS)('a resolver on %s', (driver) => {
  // Mercurius leaves out the code of errors that are not its own
  const options = driver === 'mercurius' ? { errorFormatter: codes } : {};

  it.each(WAYS)('made by %s has its limits and their keys', async (_, provide) => {
    const Sms = newClass();
    const { url } = await startGraphql(driver, { resolvers: [provide(() => new Sms('x'))], options });
    await expectLimits(url);
  });

  it('made by a factory under its class has its limits and their keys', async () => {
    const Sms = newClass();
    const resolvers = [{ provide: Sms, useFactory: () => new Sms('x') }];
    await expectLimits((await startGraphql(driver, { resolvers, options })).url);
  });

  it.each(WAYS)('made by %s stops the application if a declaration is wrong', async (_, provide) => {
    class Wrong extends newClass() {
      @Query(() => String)
      @FreqLimit('1m', -1)
      wrong() {}
    }
    await expect(startGraphql(driver, { resolvers: [provide(() => new Wrong('x'))] })).rejects.toThrow(
      '@FreqLimit on Wrong.wrong: limit: -1 is not',
    );
  });
});

it('a resolver made by a factory is prepared before the GraphQL module, in any order of modules', async () => {
  const graphql = GraphQLModule.forRoot({
    driver: ApolloDriver,
    autoSchemaFile: true,
    graphiql: false,
  } as never);
  @Module({ imports: [{ ...graphql, global: true }] })
  class Deeper {}
  const Sms = newClass();
  const { url } = await serve('express', {
    imports: [Deeper, FreqLimitModule.forRoot({ global: false })],
    providers: [{ provide: Sms, useFactory: () => new Sms('x') }],
  });
  await expectLimits(url);
});

it('a resolver made by a factory is known to the service by its class', async () => {
  const Sms = newClass();
  const resolvers = [{ provide: 'sms', useFactory: () => new Sms('x') }];
  const { app, url } = await startGraphql('apollo', { resolvers });
  await fields(2, 'send', () => execute(url, 'mutation { send }'));
  const check = { controller: Sms, handler: 'send', rule: 'two', key: '127.0.0.1' };
  expect((await app.get(FreqLimitService).peek(check)).tightest?.used).toBe(2);
});

it('a limited method of a factory’s result without a guard has a warning', async () => {
  class Jobs {
    @FreqLimit('1m', 1)
    run() {}
  }
  await startApp('express', { providers: [{ provide: 'jobs', useFactory: () => new Jobs() }] });
  expect(lines).toEqual([
    logLine('FREQ_LIMIT_RULE_WITHOUT_EFFECT', 'Jobs.run has a limit, but Nest does not call guards'),
  ]);
});

it('the result of a factory may be a closed proxy, an object without a prototype, an array or undefined', async () => {
  const fail = (): never => {
    throw new Error('not now');
  };
  const closed = new Proxy({}, { get: () => undefined, getPrototypeOf: fail, ownKeys: fail });
  const values = [
    closed,
    Object.create(null),
    [],
    null,
    undefined,
    'text',
    new Map(),
    () => 1,
    new Proxy(class {}, {}),
  ];
  const providers = values.map((value, i) => ({ provide: `value-${i}`, useFactory: () => value as unknown }));
  await startApp('express', { providers });
  expect(lines).toEqual([]);
});

describe('a call with an unknown outcome counts, with one warning', () => {
  @Injectable()
  class Queue {
    @SetMetadata('queue', true)
    @FreqLimit({ window: '1m', limit: 2, key: 'all', countWhen: 'failure' })
    run() {
      return 'done';
    }
  }
  @Module({ providers: [Queue] })
  class LazyModule {}

  function callOf(app: INestApplication, queue: Queue): () => Promise<unknown> {
    const creator = app.get(ExternalContextCreator);
    const none = undefined;

    return creator.create(queue, queue.run, 'run', none, none, none, none, none, 'queue') as never;
  }

  it('in a class of a module that is loaded later', async () => {
    const { app } = await startApp('express', {});
    const lazy = await app.get(LazyModuleLoader).load(() => LazyModule);
    const run = callOf(app, lazy.get(Queue));
    expect([await run(), await run()]).toEqual(['done', 'done']);
    expect(isFreqLimitExceeded(await run().catch((error: unknown) => error))).toBe(true);
    expect(lines).toEqual([
      logLine(
        'FREQ_LIMIT_OUTCOME_UNKNOWN',
        'Queue.run: its rules with countWhen count every request, and actualCost is not called, because the outcome of a request is not known',
      ),
    ]);
  });

  it('in a request-scoped instance of a factory', async () => {
    const { app } = await startApp('express', {
      providers: [{ provide: 'queue', scope: Scope.REQUEST, useFactory: () => new Queue() }],
    });
    const run = callOf(app, await app.resolve<Queue>('queue'));
    await run();
    await run();
    expect(lines).toHaveLength(1);
    await expect(run()).rejects.toThrow('Too many requests');
  });
});

interface Failed {
  readonly data: unknown;
  readonly errors: readonly { readonly message: string; readonly extensions?: { readonly code?: unknown } }[];
}

/** Like Apollo: a code for every error. */
function codes({ data, errors }: Failed): unknown {
  const coded = errors.map(({ message, extensions }) => ({
    message,
    extensions: { code: 'INTERNAL_SERVER_ERROR', ...extensions },
  }));
  return { statusCode: 200, response: { data, errors: coded } };
}
