import {
  applyDecorators,
  type CanActivate,
  Controller,
  Get,
  Injectable,
  Logger,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { FreqLimit, SkipFreqLimit } from '../../src/index.js';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';

// Nest keeps routes, guards and interceptors on a handler's function, and they go wherever the function goes.

const suite = redisSuite();

let lines: string[];

beforeEach(() => {
  lines = [];
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(String(line)));
});

@Injectable()
class AnyGuard implements CanActivate {
  canActivate() {
    return true;
  }
}

function decorateMethod(target: object, name: string, ...decorators: MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, name)!;
  for (const decorator of decorators) decorator(target, name, descriptor);
}

/** Copies a method, as mixins of the handbook do. */
function lend(from: Type, to: Type, ...names: string[]): void {
  for (const name of names) {
    Object.defineProperty(to.prototype, name, Object.getOwnPropertyDescriptor(from.prototype, name)!);
  }
}

const two = (): MethodDecorator => FreqLimit({ window: '1m', limit: 2, name: 'two' });
const get = (url: string) => () => fetch(url);

describe.each(EVERYWHERE)('on %s and %s', (platform, kind) => {
  it('a method copied to another class has its limits there', async () => {
    class Listing {
      @Get()
      @two()
      @UseGuards(AnyGuard)
      list() {
        return [];
      }
    }
    @Controller('b')
    class B {}
    @Controller('c')
    class C {}
    lend(Listing, B, 'list');
    lend(Listing, C, 'list');
    const limits = limitsIn(kind, suite);
    const { url } = await startApp(platform, { controllers: [B, C], limits });
    expect(await statuses(3, get(`${url}/b`))).toEqual([200, 200, 429]);
    expect(await statuses(3, get(`${url}/c`))).toEqual([200, 200, 429]);
    expect(lines).toEqual([]);
  });

  it('a limit put on an inherited method through a subclass holds there alone', async () => {
    class Crud {
      @Get()
      list() {
        return [];
      }
    }
    @Controller('cats')
    class Cats extends Crud {}
    @Controller('lions')
    class Lions extends Cats {}
    @Controller('dogs')
    class Dogs extends Crud {}
    FreqLimit('1m', 2)(Cats.prototype, 'list', Object.getOwnPropertyDescriptor(Crud.prototype, 'list')!);
    const limits = limitsIn(kind, suite);
    const { url } = await startApp(platform, { controllers: [Cats, Lions, Dogs], limits });
    expect(await statuses(3, get(`${url}/cats`))).toEqual([200, 200, 429]);
    expect(await statuses(3, get(`${url}/lions`))).toEqual([200, 200, 429]);
    expect(await statuses(3, get(`${url}/dogs`))).toEqual([200, 200, 200]);
  });
});

describe.each(PLATFORMS)('on %s', (platform) => {
  it('each class has what was said through it of a function that several have', async () => {
    function shared() {
      return 'ok';
    }
    @Controller('a')
    class A {}
    @Controller('b')
    class B {}
    @Controller('c')
    class C {}
    for (const [classRef, ...decorators] of [
      [A, Get(), FreqLimit({ window: '1m', limit: 1, name: 'a' })],
      [B, FreqLimit({ window: '1m', limit: 3, name: 'b' })],
      [C],
    ] as const) {
      Object.assign(classRef.prototype, { shared });
      decorateMethod(classRef.prototype, 'shared', ...(decorators as MethodDecorator[]));
    }
    const { url } = await startApp(platform, { controllers: [A, B, C] });
    expect(await statuses(2, get(`${url}/a`))).toEqual([200, 429]);
    expect(await statuses(4, get(`${url}/b`))).toEqual([200, 200, 200, 429]);
    // where nothing was said, all holds that was said elsewhere
    expect((await fetch(`${url}/c`)).headers.get('ratelimit-policy')).toBe('"a";q=1;w=60, "b";q=3;w=60');
  });

  it('a method that a class has borrowed has the limits it brings and those it is given', async () => {
    class Listing {
      @Get()
      @FreqLimit({ window: '1h', limit: 3, name: 'brought' })
      list() {
        return [];
      }
    }
    @Controller()
    class B {}
    lend(Listing, B, 'list');
    decorateMethod(B.prototype, 'list', FreqLimit({ window: '1m', limit: 2, name: 'given' }));
    const { url } = await startApp(platform, { controllers: [B] });
    expect((await fetch(url)).headers.get('ratelimit-policy')).toBe('"brought";q=3;w=3600, "given";q=2;w=60');
  });

  it('a mixin that copies constructor too has its limits, and is named where it hides another', async () => {
    class Listing {
      @Get()
      @FreqLimit('1m', 2)
      list() {
        return [];
      }
    }
    @Controller('b')
    @FreqLimit({ window: '1h', limit: 1, name: 'b' })
    class B {}
    @Controller('c')
    class C {}
    lend(Listing, B, 'constructor', 'list');
    const { url } = await startApp(platform, { controllers: [B] });
    expect(await statuses(2, get(`${url}/b`))).toEqual([200, 429]);
    expect(lines).toEqual([]);
    lend(Listing, C, 'constructor', 'list');
    await startApp(platform, { controllers: [B, C] });
    expect(lines).toEqual([
      'C has limits, but its prototype has the constructor of Listing, so Nest tells guards that its requests are for B, ' +
        'and they count there: leave constructor out where methods are copied.',
    ]);
  });

  it('what several decorators of one say is all there, put together by applyDecorators or through a subclass', async () => {
    const Both = () => applyDecorators(two(), FreqLimit({ window: '1h', limit: 9, name: 'nine' }));
    class Crud {
      @Get()
      @FreqLimit({ window: '1m', limit: 7, name: 'two' })
      list() {
        return [];
      }
    }
    @Controller('cats')
    class Cats extends Crud {}
    Both()(Cats.prototype, 'list', Object.getOwnPropertyDescriptor(Crud.prototype, 'list'));
    @Controller('free')
    class Free extends Cats {}
    SkipFreqLimit('nine')(Free.prototype, 'list', Object.getOwnPropertyDescriptor(Crud.prototype, 'list')!);
    const { url } = await startApp(platform, { controllers: [Cats, Free] });
    const policy = async (path: string) => (await fetch(`${url}/${path}`)).headers.get('ratelimit-policy');
    expect(await policy('cats')).toBe('"two";q=2;w=60, "nine";q=9;w=3600');
    expect(await policy('free')).toBe('"two";q=2;w=60');
  });
});

it('names of one function in one class are one handler, and may not have different limits', async () => {
  @Controller()
  class Same {
    @Get(['one', 'two'])
    @FreqLimit('1m', 2)
    one() {
      return 'ok';
    }
  }
  Object.assign(Same.prototype, {
    two: Object.getOwnPropertyDescriptor(Same.prototype, 'one')!.value as unknown,
  });
  const { url } = await startApp('express', { controllers: [Same] });
  expect(await statuses(2, get(`${url}/one`))).toEqual([200, 200]);
  expect(await statuses(1, get(`${url}/two`))).toEqual([429]);
  decorateMethod(Same.prototype, 'two', FreqLimit({ window: '1h', limit: 1, name: 'other' }));
  await expect(startApp('express', { controllers: [Same] })).rejects.toThrow(
    '@FreqLimit on Same.one: two is the same function and has other limits',
  );
});
