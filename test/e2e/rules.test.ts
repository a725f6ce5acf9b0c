import { applyDecorators, Controller, Get } from '@nestjs/common';
import { jest } from '@jest/globals';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import { FreqLimit, SkipFreqLimit } from 'nestjs-freq-limit';
import type { Store } from '../../src/core/store.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { remaining } from '../support/http.js';

afterEach(closeApps);

describe.each(PLATFORMS)('rules on %s', (platform) => {
  const get = async (url: string): Promise<Record<string, number>> => remaining(await fetch(url));

  it('add up from the module, the controller and the handler; of one name the one closest to the handler wins', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 5, name: 'x' })
    @FreqLimit({ window: '1m', limit: 9, name: 'y' })
    class Levels {
      @Get('own')
      @FreqLimit({ window: '1m', limit: 2, name: 'x' })
      own() {
        return 'own';
      }

      @Get('none')
      none() {
        return 'none';
      }
    }
    const rules = [{ window: '1m', limit: 700, name: 'global' }] as const;
    const { url } = await startApp(platform, { controllers: [Levels], limits: { rules } });
    const policies = async (path: string): Promise<string | null> =>
      (await fetch(`${url}/${path}`)).headers.get('ratelimit-policy');
    const own = '"global";q=700;w=60, "x";q=2;w=60, "y";q=9;w=60';
    const none = '"global";q=700;w=60, "x";q=5;w=60, "y";q=9;w=60';
    const seen = await Promise.all(
      Array.from({ length: 200 }, (_, i) => policies(i % 2 === 0 ? 'own' : 'none')),
    );
    seen.forEach((policy, i) => expect(policy).toBe(i % 2 === 0 ? own : none));
  });

  it('count per handler on a handler, and for all handlers together on a controller', async () => {
    @Controller('group')
    @FreqLimit('1m', 3)
    class Group {
      @Get('a')
      a() {
        return 'a';
      }
      @Get('b')
      b() {
        return 'b';
      }
    }
    @Controller('each')
    class Each {
      @Get('a')
      @FreqLimit('1m', 3)
      a() {
        return 'a';
      }
      @Get('b')
      @FreqLimit('1m', 3)
      b() {
        return 'b';
      }
    }
    const { url } = await startApp(platform, { controllers: [Group, Each] });
    const at = (path: string) => (): Promise<Response> => fetch(`${url}/${path}`);
    expect(await statuses(2, at('group/a'))).toEqual([200, 200]);
    expect(await statuses(2, at('group/b'))).toEqual([200, 429]);
    expect(await statuses(1, at('group/a'))).toEqual([429]);
    expect(await statuses(4, at('each/a'))).toEqual([200, 200, 200, 429]);
    expect(await statuses(4, at('each/b'))).toEqual([200, 200, 200, 429]);
  });

  it('share a counter across controllers with the scope app and one name', async () => {
    const shared = { window: '1m', limit: 3, name: 'shared', scope: 'app' } as const;
    @Controller('one')
    class One {
      @Get()
      @FreqLimit(shared)
      get() {
        return 1;
      }
    }
    @Controller('two')
    class Two {
      @Get()
      @FreqLimit(shared)
      get() {
        return 2;
      }
      @Get('each')
      @FreqLimit({ ...shared, scope: 'controller' })
      each() {
        return 2;
      }
    }
    const { url } = await startApp(platform, { controllers: [One, Two] });
    expect(await statuses(2, () => fetch(`${url}/one`))).toEqual([200, 200]);
    expect(await statuses(2, () => fetch(`${url}/two`))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/two/each`))).toEqual([200]);
  });

  it('count each handler separately with the scope handler on a rule of the module', async () => {
    @Controller()
    class Plain {
      @Get('a')
      a() {
        return 'a';
      }
      @Get('b')
      b() {
        return 'b';
      }
    }
    const rules = [{ name: 'each', window: '1m', limit: 1, scope: 'handler' }] as const;
    const { url } = await startApp(platform, { controllers: [Plain], limits: { rules } });
    expect(await statuses(2, () => fetch(`${url}/a`))).toEqual([200, 429]);
    expect(await statuses(2, () => fetch(`${url}/b`))).toEqual([200, 429]);
  });

  it('compose with applyDecorators, in source order', async () => {
    const Guarded = () => applyDecorators(Get(), FreqLimit('1m', 1), FreqLimit('1h', 2), FreqLimit('1d', 3));
    @Controller()
    class Composed {
      @Guarded()
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Composed] });
    expect(await get(url)).toEqual({ '1m': 0, '1h': 1, '1d': 2 });
    expect(Object.keys(await get(url))).toEqual(['1m', '1h', '1d']);
  });

  it('can be skipped, all of them or by name', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 1, name: 'class' })
    class Skipping {
      @Get('all')
      @SkipFreqLimit()
      @FreqLimit({ window: '1m', limit: 1, name: 'own' })
      all() {
        return 'ok';
      }
      @Get('one')
      @SkipFreqLimit('daily', 'class')
      @FreqLimit({ window: '1m', limit: 5, name: 'own' })
      one() {
        return 'ok';
      }
    }
    @Controller('class')
    @SkipFreqLimit()
    class SkippedClass {
      @Get()
      get() {
        return 'ok';
      }
      @Get('own')
      @FreqLimit({ window: '1m', limit: 1, name: 'own' })
      own() {
        return 'ok';
      }
    }
    const limits = { rules: [{ window: '1d', limit: 100, name: 'daily' }] } as const;
    const { url } = await startApp(platform, { controllers: [Skipping, SkippedClass], limits });
    expect(await statuses(3, () => fetch(`${url}/all`))).toEqual([200, 200, 200]);
    expect(await get(`${url}/all`)).toEqual({});
    expect(await get(`${url}/one`)).toEqual({ own: 4 });
    expect(await get(`${url}/class`)).toEqual({});
    // closer than the skip
    expect(await statuses(2, () => fetch(`${url}/class/own`))).toEqual([200, 429]);
  });

  it('are inherited by subclasses, which do not change their parent', async () => {
    @FreqLimit({ window: '1m', limit: 7, name: 'base' })
    class Base {
      @Get('m')
      @FreqLimit({ window: '1m', limit: 1, name: 'a' })
      m() {
        return 'base';
      }
    }
    @Controller('base')
    class Plain extends Base {}
    @Controller('derived')
    @FreqLimit({ window: '1m', limit: 9, name: 'derived' })
    class Derived extends Base {
      @Get('m')
      @FreqLimit({ window: '1m', limit: 2, name: 'b' })
      override m() {
        return 'derived';
      }
    }
    @Controller('derived2')
    class Derived2 extends Base {
      @Get('m')
      override m() {
        return 'derived2';
      }
    }
    const { url } = await startApp(platform, { controllers: [Plain, Derived, Derived2] });
    expect(await get(`${url}/base/m`)).toEqual({ base: 6, a: 0 });
    expect(await get(`${url}/derived/m`)).toEqual({ base: 6, derived: 8, b: 1 });
    expect(await get(`${url}/derived2/m`)).toEqual({ base: 6 });
    expect(await statuses(1, () => fetch(`${url}/base/m`))).toEqual([429]);
  });
});

describe.each(PLATFORMS)('skipped rules on %s', (platform) => {
  it('cost no store call if all are skipped', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 1, name: 'class' })
    class Skipped {
      @Get()
      @SkipFreqLimit()
      @FreqLimit({ window: '1m', limit: 1, name: 'own' })
      get() {
        return 'ok';
      }
    }
    const limits = { rules: [{ window: '1m', limit: 1, name: 'module' }] } as const;
    const { app, url } = await startApp(platform, { controllers: [Skipped], limits });
    const consume = jest.spyOn(app.get<Store>(FREQ_LIMIT_STORE), 'consume');
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 200]);
    expect(consume).not.toHaveBeenCalled();
  });
});
