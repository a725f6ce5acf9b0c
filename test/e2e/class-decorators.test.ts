import { Controller, Get, Injectable, mixin, Module, type Type } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { randomUUID } from 'node:crypto';
import { FreqLimit, FreqLimitVerdict, SkipFreqLimit, type Verdict } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { execute, fields, startGraphql } from '../support/graphql.js';
import { captureLog, logLine } from '../support/log.js';
import {
  messageClient,
  closeMicroservices,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

const suite = redisSuite();

const { lines, withCode, clear } = captureLog();
afterEach(closeMicroservices);
afterEach(closeApps);

const get = (url: string) => () => fetch(url);
const inRedis = () => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

function copyMetadata(from: object, to: object, name?: string): void {
  const keys = name === undefined ? Reflect.getMetadataKeys(from) : Reflect.getMetadataKeys(from, name);
  for (const key of keys) {
    if (name === undefined) Reflect.defineMetadata(key, Reflect.getMetadata(key, from), to);
    else Reflect.defineMetadata(key, Reflect.getMetadata(key, from, name), to, name);
  }
}

/** Replacements that class decorators return for a class. */
const REPLACEMENTS: [string, (classRef: Type) => Type][] = [
  ['a subclass', (classRef) => class extends classRef {}],
  [
    'a subclass with the metadata of the class',
    (classRef) => {
      const Replaced = class extends classRef {};
      copyMetadata(classRef, Replaced);
      return Replaced;
    },
  ],
  [
    'a subclass with the metadata of the class, of its prototype and of its methods, and the methods',
    (classRef) => {
      const Replaced = class extends classRef {};
      const from = classRef.prototype as object;
      copyMetadata(classRef, Replaced);
      copyMetadata(from, Replaced.prototype);
      for (const name of Object.getOwnPropertyNames(from)) {
        if (name === 'constructor') continue;
        Object.defineProperty(Replaced.prototype, name, Object.getOwnPropertyDescriptor(from, name)!);
        copyMetadata(from, Replaced.prototype, name);
      }
      return Replaced;
    },
  ],
  ["Nest's mixin() of a subclass", (classRef) => mixin(class extends classRef {})],
  ['a proxy', (classRef) => new Proxy(classRef, {})],
];

describe.each(PLATFORMS)('class decorators on %s', (platform) => {
  describe.each(REPLACEMENTS)('that return %s', (_, replace) => {
    const Replaced = ((classRef: Type) => replace(classRef)) as ClassDecorator;

    it('apply each limit of the class and of its methods once', async () => {
      @Controller()
      @FreqLimit('1h', 3)
      @Replaced
      @SkipFreqLimit('gone')
      @FreqLimit('1m', 9)
      @FreqLimit({ window: '1m', limit: 1, name: 'gone' })
      class Cats {
        @Get()
        @FreqLimit('1d', 2)
        @FreqLimit({ window: '1m', limit: 8, name: 'named' })
        list(@FreqLimitVerdict() verdict: Verdict) {
          return verdict.results.map(({ limit }) => limit).join();
        }
      }
      const { url } = await startApp(platform, { controllers: [Cats] });
      const answer = await fetch(url);
      expect(await answer.text()).toBe('9,3,2,8');
      expect(await statuses(2, get(url))).toEqual([200, 429]);
      expect(lines).toEqual([]);
    });
  });

  it('count once if applied twice in one place, and twice if applied in two places', async () => {
    const limit = FreqLimit('1m', 2);
    @Controller()
    @limit
    class Twice {
      @Get()
      @limit
      @limit
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Twice] });
    expect((await fetch(url)).headers.get('ratelimit-policy')).toBe('"1m";q=2;w=60, "1m-2";q=2;w=60');
  });
});

/** A controller that a library generates for a resource. */
function crud(path: string): Type {
  class Crud {
    @Get()
    @FreqLimit({ window: '1m', limit: 2, name: 'list' })
    list() {
      return [];
    }
  }
  @Controller(path)
  class Made extends Crud {}
  return mixin(Made) as Type;
}

describe('a class with a generated name has the same counters in every process', () => {
  it('by its route, in any order of such classes', async () => {
    const [cats, dogs] = [crud('cats'), crud('dogs')];
    const [dogsOfOther, catsOfOther] = [crud('dogs'), crud('cats')];
    expect(new Set([cats, dogs, dogsOfOther, catsOfOther].map(({ name }) => name)).size).toBe(4);
    const one = await startApp('express', { controllers: [cats, dogs], limits: inRedis() });
    const other = await startApp('express', { controllers: [dogsOfOther, catsOfOther], limits: inRedis() });
    for (const path of ['cats', 'dogs']) {
      expect(await statuses(1, get(`${one.url}/${path}`))).toEqual([200]);
      expect(await statuses(2, get(`${other.url}/${path}`))).toEqual([200, 429]);
      expect(await statuses(1, get(`${one.url}/${path}`))).toEqual([429]);
    }
    const keys = await keysOf(suite.client, suite.namespace);
    expect(keys).toHaveLength(2);
    for (const key of keys) expect(key.slice(suite.namespace.length)).toMatch(/^:Crud\.list\.list~/);
    expect(lines).toEqual([]);
  });

  it('by its module, which may have a generated name too', async () => {
    const moduleOf = (path: string): Type => {
      @Module({ controllers: [crud(path)] })
      class CrudModule {}
      // mixin() does not work for modules
      return Object.defineProperty(CrudModule, 'name', { value: `Crud-${randomUUID()}` });
    };
    for (const paths of [
      ['a', 'b'],
      ['b', 'a'],
    ]) {
      const { url } = await startApp('express', { imports: paths.map(moduleOf), limits: inRedis() });
      expect(await statuses(1, get(`${url}/a`))).toEqual([200]);
    }
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  it('by the names of its operations', async () => {
    const resolver = (name: string): Type => {
      @Resolver()
      class Words {
        @Query(() => String, { name, nullable: true })
        @FreqLimit('1m', 2)
        one() {
          return name;
        }
      }
      return mixin(Words) as Type;
    };
    const seen = [];
    for (const names of [
      ['cat', 'dog'],
      ['dog', 'cat'],
    ]) {
      const { url } = await startGraphql('apollo', { resolvers: names.map(resolver), limits: inRedis() });
      seen.push(...(await fields(1, 'cat', () => execute(url, '{ cat }'))));
    }
    expect(seen).toEqual(['cat', 'cat']);
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(1);
  });

  it('by the patterns of its messages', async () => {
    const messages = (pattern: string): Type => {
      @Controller()
      class Messages {
        @MessagePattern(pattern)
        @FreqLimit('1m', 1, 'all')
        one() {
          return pattern;
        }
      }
      return mixin(Messages) as Type;
    };
    const answers = [];
    for (const patterns of [
      ['cat', 'dog'],
      ['dog', 'cat'],
    ]) {
      const transport = await transportOf('tcp');
      await startMicroservice(transport, { controllers: patterns.map(messages), limits: inRedis() });
      answers.push(await messageClient(transport).send('cat', {}));
    }
    const denied = { error: expect.objectContaining({ code: 'TOO_MANY_REQUESTS' }) as unknown };
    expect(answers).toEqual(['cat', denied]);
  });

  it('or a warning says which classes to name', async () => {
    const job = (): Type => {
      @Injectable()
      class Job {
        @FreqLimit('1m', 1)
        run() {}
      }
      return mixin(Job) as Type;
    };
    await startApp('express', { providers: [job(), job()] });
    expect(withCode('FREQ_LIMIT_AMBIGUOUS_CLASS')).toEqual([
      'FREQ_LIMIT_AMBIGUOUS_CLASS: Several classes with limits were made at run time from Mixin, in the same module and ' +
        'with the same routes. Their order decides which of them uses which counters, and the order may differ between ' +
        "processes. Give each a name after mixin(): Object.defineProperty(classRef, 'name', { value: 'CatsController' }).",
    ]);
    clear();
    const named = [job(), job()];
    named.forEach((one, i) => Object.defineProperty(one, 'name', { value: `Job${i}` }));
    await startApp('express', { providers: named });
    expect(withCode('FREQ_LIMIT_AMBIGUOUS_CLASS')).toEqual([]);
  });

  it('or a warning says which classes have the same name', async () => {
    const cats = (): Type => {
      @Controller()
      class Cats {
        @Get()
        get() {}
      }
      return Cats;
    };
    const start = (scope: 'app' | 'handler') =>
      startApp('express', {
        controllers: [cats(), cats()],
        limits: { rules: [{ window: '1m', limit: 9, scope }] },
      });
    await start('app');
    expect(lines).toEqual([]);
    await start('handler');
    expect(lines).toEqual([
      logLine(
        'FREQ_LIMIT_AMBIGUOUS_CLASS',
        /Several classes with limits are called Cats, .* Rename all but one\.$/,
      ),
    ]);
  });
});
