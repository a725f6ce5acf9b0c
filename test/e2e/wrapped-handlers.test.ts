import { type CanActivate, Controller, Get, Injectable, Scope, UseGuards } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { FreqLimit, FreqLimitService, SkipFreqLimit } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { execute, fields, startGraphql } from '../support/graphql.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import {
  messageClient,
  closeMicroservices,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { redisSuite } from '../support/redis-suite.js';

// Nest keeps routes, guards and interceptors on the function of a handler, so copies of the function have them too.

const suite = redisSuite();

let guarded: number;
const { lines } = captureLog();

beforeEach(() => {
  guarded = 0;
});
afterEach(closeMicroservices);
afterEach(closeApps);

@Injectable()
class AnyGuard implements CanActivate {
  canActivate() {
    guarded++;
    return true;
  }
}

type Method = (this: unknown, ...args: unknown[]) => unknown;
const WAYS = ['inherits', 'copies'] as const;
type Way = (typeof WAYS)[number];

/** A function that calls another and copies its metadata, like wrappers of libraries. */
function wrapperOf(first: Method, way: Way): Method {
  const second = function (this: unknown, ...args: unknown[]) {
    return first.apply(this, args);
  };
  if (way === 'inherits') return Object.setPrototypeOf(second, first) as Method;
  for (const key of Reflect.getMetadataKeys(first)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, first), second);
  }
  return second;
}

/** Adds another handler to the class, which wraps this one, with these decorators. */
function also(way: Way, name: string, ...decorators: MethodDecorator[]): MethodDecorator {
  return (target, _key, descriptor) => {
    Object.assign(target, { [name]: wrapperOf(descriptor.value as Method, way) });
    decorateMethod(target, name, ...decorators);
  };
}

function decorateMethod(target: object, name: string, ...decorators: MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, name)!;
  for (const decorator of decorators) decorator(target, name, descriptor);
}

const two = (): MethodDecorator => FreqLimit({ window: '1m', limit: 2, name: 'two' });
const get = (url: string) => () => fetch(url);

describe.each(EVERYWHERE)('wrapped handlers on %s and %s', (platform, kind) => {
  it.each(WAYS)('that %s metadata have the limits of their method, on a separate counter', async (way) => {
    @Controller('a')
    class Wrapped {
      @also(way, 'second', Get('two'))
      @two()
      @UseGuards(AnyGuard)
      @Get('one')
      m() {
        return 'ok';
      }
    }
    const limits = limitsIn(kind, suite);
    const { app, url } = await startApp(platform, { controllers: [Wrapped], limits });
    expect(await statuses(3, get(`${url}/a/two`))).toEqual([200, 200, 429]);
    expect(await statuses(3, get(`${url}/a/one`))).toEqual([200, 200, 429]);
    expect(guarded).toBeGreaterThan(0);
    const check = { controller: Wrapped, handler: 'second', rule: 'two', key: '127.0.0.1' };
    await app.get(FreqLimitService).reset(check);
    expect(await statuses(1, get(`${url}/a/two`))).toEqual([200]);
    expect(await statuses(1, get(`${url}/a/one`))).toEqual([429]);
    expect(lines).toEqual([]);
  });
});

describe.each(PLATFORMS)('wrapped handlers on %s', (platform) => {
  it('have a limit written above the decorator that makes them', async () => {
    @Controller()
    class Wrapped {
      @FreqLimit('1m', 2)
      @UseGuards(AnyGuard)
      @also('inherits', 'second', Get('two'))
      @Get('one')
      m() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Wrapped] });
    for (const path of ['one', 'two'])
      expect(await statuses(3, get(`${url}/${path}`))).toEqual([200, 200, 429]);
  });

  it.each(WAYS)('that %s metadata have skips and overrides of their method, and their own', async (way) => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 1, name: 'class' })
    @FreqLimit({ window: '1m', limit: 1, name: 'tight' })
    class Wrapped {
      @also(way, 'second', Get('two'), FreqLimit({ window: '1h', limit: 3, name: 'own' }))
      @SkipFreqLimit('class')
      @FreqLimit({ window: '1m', limit: 4, name: 'tight' })
      @Get('one')
      m() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Wrapped] });
    expect(await statuses(5, get(`${url}/one`))).toEqual([200, 200, 200, 200, 429]);
    expect(await statuses(4, get(`${url}/two`))).toEqual([200, 200, 200, 429]);
  });

  it.each(WAYS)('that %s metadata of wrappers have the limits of all', async (way) => {
    const further = also(way, 'third', Get('three'));
    @Controller()
    class Wrapped {
      @also(way, 'second', Get('two'), FreqLimit({ window: '1h', limit: 1, name: 'second' }), (...on) => {
        further(...on);
      })
      @FreqLimit({ window: '1m', limit: 2, name: 'first' })
      @Get('one')
      m() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Wrapped] });
    const policy = async (path: string) => (await fetch(`${url}/${path}`)).headers.get('ratelimit-policy');
    expect(await policy('one')).toBe('"first";q=2;w=60');
    expect(await policy('two')).toBe('"first";q=2;w=60, "second";q=1;w=3600');
    expect(await policy('three')).toBe('"first";q=2;w=60, "second";q=1;w=3600');
  });

  it('that copy nothing are found by their name', async () => {
    const Replaced: MethodDecorator = (_target, _name, descriptor) => {
      const first = descriptor.value as unknown as () => unknown;
      descriptor.value = (() => first()) as never;
    };
    @Controller()
    class Wrapped {
      @Get('above')
      @FreqLimit('1m', 2)
      @Replaced
      above() {
        return 'ok';
      }
      @Get('below')
      @Replaced
      @FreqLimit('1m', 2)
      below() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Wrapped] });
    for (const path of ['above', 'below'])
      expect(await statuses(3, get(`${url}/${path}`))).toEqual([200, 200, 429]);
  });

  it.each(WAYS)(
    'that %s metadata and are made for each request have the limits of their method',
    async (way) => {
      @Controller({ scope: Scope.REQUEST })
      class PerRequest {
        constructor() {
          this.m = wrapperOf(this.m, way) as () => string;
        }
        @Get()
        @FreqLimit('1m', 2)
        m() {
          return 'ok';
        }
      }
      const { url } = await startApp(platform, { controllers: [PerRequest] });
      expect(await statuses(3, get(url))).toEqual([200, 200, 429]);
    },
  );
});

describe('wrapped handlers on other transports', () => {
  it.each(WAYS)('for messages that %s metadata have the limits of their method', async (way) => {
    @Controller()
    class Messages {
      @also(way, 'second', MessagePattern('second'))
      @FreqLimit('1m', 1, 'all')
      @MessagePattern('first')
      m() {
        return 'ok';
      }
    }
    const transport = await transportOf('tcp');
    await startMicroservice(transport, { controllers: [Messages] });
    const client = messageClient(transport);
    const denied = { error: expect.objectContaining({ code: 'TOO_MANY_REQUESTS' }) as unknown };
    expect([await client.send('second', {}), await client.send('second', {})]).toEqual(['ok', denied]);
    expect([await client.send('first', {}), await client.send('first', {})]).toEqual(['ok', denied]);
  });

  it.each(WAYS)('for resolvers that %s metadata have the limits of their method', async (way) => {
    @Resolver()
    class Words {
      @also(way, 'second', Query(() => String, { name: 'second', nullable: true }))
      @FreqLimit('1m', 1)
      @Query(() => String, { name: 'first', nullable: true })
      m() {
        return 'ok';
      }
    }
    const { url } = await startGraphql('apollo', { resolvers: [Words] });
    for (const field of ['second', 'first']) {
      const answers = await fields(2, field, () => execute(url, `{ ${field} }`));
      expect(answers).toEqual(['ok', 'TOO_MANY_REQUESTS']);
    }
  });
});
