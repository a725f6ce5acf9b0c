import {
  applyDecorators,
  type CanActivate,
  Controller,
  Get,
  Injectable,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { FreqLimit, SkipFreqLimit } from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';

// Nest keeps routes, guards and interceptors on the function of a handler, so copies of the function have them too.

const suite = redisSuite();

const { lines } = captureLog();

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

/** Copies a method, like the mixins of the TypeScript handbook. */
function lend(from: Type, to: Type, ...names: string[]): void {
  for (const name of names) {
    Object.defineProperty(to.prototype, name, Object.getOwnPropertyDescriptor(from.prototype, name)!);
  }
}

const two = (): MethodDecorator => FreqLimit({ window: '1m', limit: 2, name: 'two' });
const get = (url: string) => () => fetch(url);

describe.each(EVERYWHERE)('copied and inherited methods on %s and %s', (platform, kind) => {
  it('have the limits of their original in another class', async () => {
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

  it('have a limit added through a subclass only in that subclass', async () => {
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

describe.each(PLATFORMS)('a function that several classes share on %s', (platform) => {
  it('has the limits declared through each class only there', async () => {
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
    // a class without its own declarations has those of all others
    expect((await fetch(`${url}/c`)).headers.get('ratelimit-policy')).toBe('"a";q=1;w=60, "b";q=3;w=60');
  });

  it('has the limits it brings and those added in the borrowing class', async () => {
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

  it('has its limits if a mixin copies constructor too, with a warning if that hides another class', async () => {
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

  it('has the limits of all decorators, also by applyDecorators or through a subclass', async () => {
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

it('two names of one function in one class are one handler, and may not have different limits', async () => {
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
