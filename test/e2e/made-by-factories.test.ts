import {
  type INestApplication,
  Injectable,
  Logger,
  Module,
  type Provider,
  Scope,
  SetMetadata,
} from '@nestjs/common';
import { ApolloDriver } from '@nestjs/apollo';
import { jest } from '@jest/globals';
import { Args, GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import { ExternalContextCreator, LazyModuleLoader } from '@nestjs/core';
import { FreqLimit, FreqLimitModule, FreqLimitService, isFreqLimitExceeded } from '../../src/index.js';
import { closeApps, serve, startApp } from '../support/app.js';
import { ask, DRIVERS, fields, startGraphql } from '../support/graphql.js';

// Of what a factory or a value provides, Nest knows no class, and finds resolvers in the instance.

let lines: string[];

beforeEach(() => {
  lines = [];
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(String(line)));
});
afterEach(() => jest.restoreAllMocks());
afterEach(closeApps);

/** A class that no application has seen: what is prepared on its methods stays there. */
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

/** What the counted mutations answer to these calls, one after the other. */
async function answers(url: string, field: string, ...fails: boolean[]): Promise<unknown[]> {
  const seen = [];
  for (const fail of fails) {
    const query = `mutation { ${field}(fail: ${fail}) }`;
    seen.push(...(await fields(1, field, () => ask(url, query))));
  }
  return seen;
}

async function expectLimits(url: string): Promise<void> {
  const sent = await fields(3, 'send', () => ask(url, 'mutation { send }'));
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
  // Mercurius says nothing of the code of an error that is not its own
  const options = driver === 'mercurius' ? { errorFormatter: codes } : {};

  it.each(WAYS)('made by %s has its limits, and what they count by', async (_, provide) => {
    const Sms = newClass();
    const { url } = await startGraphql(driver, { resolvers: [provide(() => new Sms('x'))], options });
    await expectLimits(url);
  });

  it('made under its class is the same', async () => {
    const Sms = newClass();
    const resolvers = [{ provide: Sms, useFactory: () => new Sms('x') }];
    await expectLimits((await startGraphql(driver, { resolvers, options })).url);
  });

  it.each(WAYS)('made by %s stops the application where a declaration is wrong', async (_, provide) => {
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

it('is prepared before the module of GraphQL looks for resolvers, in whatever order modules are', async () => {
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

it('is known to the service by its class', async () => {
  const Sms = newClass();
  const resolvers = [{ provide: 'sms', useFactory: () => new Sms('x') }];
  const { app, url } = await startGraphql('apollo', { resolvers });
  await fields(2, 'send', () => ask(url, 'mutation { send }'));
  const check = { controller: Sms, handler: 'send', rule: 'two', key: '127.0.0.1' };
  expect((await app.get(FreqLimitService).peek(check)).tightest?.used).toBe(2);
});

it('has a line in the log where no guard is called', async () => {
  class Jobs {
    @FreqLimit('1m', 1)
    run() {}
  }
  await startApp('express', { providers: [{ provide: 'jobs', useFactory: () => new Jobs() }] });
  expect(lines).toEqual([expect.stringMatching(/^Jobs\.run has a limit, but no decorator of Nest makes it/)]);
});

it('may be anything: a proxy that shows nothing, an object without a prototype, a list, nothing', async () => {
  const refuse = (): never => {
    throw new Error('not now');
  };
  const closed = new Proxy({}, { get: () => undefined, getPrototypeOf: refuse, ownKeys: refuse });
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

describe('where it cannot be known how a call ends, it counts, and the log says so once', () => {
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

  it('as of a class of a module that is loaded later', async () => {
    const { app } = await startApp('express', {});
    const lazy = await app.get(LazyModuleLoader).load(() => LazyModule);
    const run = callOf(app, lazy.get(Queue));
    expect([await run(), await run()]).toEqual(['done', 'done']);
    expect(isFreqLimitExceeded(await run().catch((error: unknown) => error))).toBe(true);
    expect(lines).toEqual([
      expect.stringMatching(
        /^FREQ_LIMIT_OUTCOME_UNKNOWN: Queue\.run: its rules with countWhen count every request, because the outcome of a request is not known/,
      ),
    ]);
  });

  it('as of an instance for each request, which a factory makes', async () => {
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

/** As Apollo does: a code for every error. */
function codes({ data, errors }: Failed): unknown {
  const coded = errors.map(({ message, extensions }) => ({
    message,
    extensions: { code: 'INTERNAL_SERVER_ERROR', ...extensions },
  }));
  return { statusCode: 200, response: { data, errors: coded } };
}
