import { type CanActivate, Controller, Injectable, UseGuards } from '@nestjs/common';
import { oc } from '@orpc/contract';
import { implement, Implement, ORPCModule } from '@orpc/nest';
import { ORPCError } from '@orpc/server';
import { z } from 'zod';
import { FreqLimit, FreqLimitVerdict, SkipFreqLimit, type Verdict } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { initContract, TsRestHandler, tsRestHandler } from '../support/ts-rest.js';

// These libraries make all routes of a contract from one method: each route is a wrapper with its own name.

const suite = redisSuite();

let guarded = 0;
const { lines } = captureLog();

beforeEach(() => {
  guarded = 0;
});
afterEach(closeApps);

@Injectable()
class AnyGuard implements CanActivate {
  canActivate() {
    guarded++;
    return true;
  }
}

const route = (method: 'GET' | 'POST', path: `/${string}`) =>
  oc.route({ method, path }).output(z.object({ done: z.string() }));

const contract = {
  list: route('GET', '/list'),
  create: route('POST', '/create'),
  deep: { find: route('GET', '/find') },
};

const done = (name: string) => ({ done: name });

/** The implementation of the whole contract, which the handlers below return. */
function implementation() {
  return {
    list: implement(contract.list).handler(() => done('list')),
    create: implement(contract.create).handler(() => done('create')),
    deep: { find: implement(contract.deep.find).handler(() => done('find')) },
  };
}

const send = (url: string, path: string) => () =>
  fetch(`${url}/${path}`, { method: path === 'create' ? 'POST' : 'GET' });
const orpc = ORPCModule.forRoot({});

describe.each(EVERYWHERE)('a limit on a router of @orpc/nest, on %s and %s', (platform, kind) => {
  it.each(['above', 'below'])('applies %s @Implement, for each route separately', async (place) => {
    const limit = FreqLimit({ window: '1m', limit: 2, name: 'two' });
    const none: MethodDecorator = () => undefined;
    @Controller()
    class Planets {
      @(place === 'above' ? limit : none)
      @UseGuards(AnyGuard)
      @Implement(contract)
      @(place === 'below' ? limit : none)
      all() {
        return implementation();
      }
    }
    const limits = limitsIn(kind, suite);
    const { url } = await startApp(platform, { imports: [orpc], controllers: [Planets], limits });
    for (const path of ['list', 'create', 'find']) {
      expect(await statuses(3, send(url, path))).toEqual([200, 200, 429]);
    }
    expect(guarded).toBeGreaterThan(0);
    expect(lines).toEqual([]);
  });
});

describe.each(PLATFORMS)('rules on a router of @orpc/nest, on %s', (platform) => {
  it('add up from above and below, and each counts once', async () => {
    @Controller()
    class Planets {
      @FreqLimit({ window: '1m', limit: 3, name: 'minute' })
      @Implement(contract)
      @FreqLimit({ window: '1h', limit: 2, name: 'hour' })
      all() {
        return implementation();
      }
    }
    const { url } = await startApp(platform, { imports: [orpc], controllers: [Planets] });
    const answer = await fetch(`${url}/list`);
    expect(answer.headers.get('ratelimit-policy')).toBe('"minute";q=3;w=60, "hour";q=2;w=3600');
    expect(await statuses(2, send(url, 'list'))).toEqual([200, 429]);
  });

  it('override and skip outer rules, and count by outcome', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 1, name: 'class' })
    @FreqLimit({ window: '1m', limit: 1, name: 'tight' })
    class Planets {
      @SkipFreqLimit('class')
      @FreqLimit({ window: '1m', limit: 2, name: 'tight', countWhen: 'failure' })
      @Implement(contract)
      all() {
        return {
          ...implementation(),
          create: implement(contract.create).handler(() => {
            throw new ORPCError('CONFLICT');
          }),
        };
      }
    }
    const { url } = await startApp(platform, { imports: [orpc], controllers: [Planets] });
    expect(await statuses(4, send(url, 'list'))).toEqual([200, 200, 200, 200]);
    expect(await statuses(4, send(url, 'create'))).toEqual([409, 409, 429, 429]);
  });

  it('give the handler its verdict', async () => {
    const seen: unknown[] = [];
    @Controller()
    class Planets {
      @Implement(contract)
      all(@FreqLimitVerdict() { results }: Verdict) {
        seen.push(results.map(({ name, remaining }) => [name, remaining]));
        return implementation();
      }
    }
    const limits = { rules: [{ window: '1m', limit: 2, name: 'all' }] } as const;
    const { url } = await startApp(platform, { imports: [orpc], controllers: [Planets], limits });
    expect(await statuses(1, send(url, 'find'))).toEqual([200]);
    expect(seen).toEqual([[['all', 1]]]);
  });
});

describe.each(EVERYWHERE)('a limit on a router of @ts-rest/nest, on %s and %s', (platform, kind) => {
  const response = { 200: z.object({ done: z.string() }) };
  const routes = initContract().router({
    list: { method: 'GET', path: '/list', responses: response },
    create: {
      method: 'POST',
      path: '/create',
      body: z.any(),
      responses: { ...response, 409: response[200] },
    },
  });

  it.each(['above', 'below'])('applies %s @TsRestHandler, for each route separately', async (place) => {
    const limit = FreqLimit({ window: '1m', limit: 2, name: 'two' });
    const none: MethodDecorator = () => undefined;
    @Controller()
    class Planets {
      @(place === 'above' ? limit : none)
      @TsRestHandler(routes)
      @UseGuards(AnyGuard)
      @(place === 'below' ? limit : none)
      handler() {
        const implemented = (name: string) => () => Promise.resolve({ status: 200, body: done(name) });
        return Promise.resolve(
          tsRestHandler(routes, { list: implemented('list'), create: implemented('create') }),
        );
      }
    }
    const limits = limitsIn(kind, suite);
    const { url } = await startApp(platform, { controllers: [Planets], limits });
    for (const path of ['list', 'create']) {
      expect(await statuses(3, send(url, path))).toEqual([200, 200, 429]);
    }
    expect(guarded).toBeGreaterThan(0);
    expect(lines).toEqual([]);
  });

  it('counts by outcome', async () => {
    @Controller()
    class Planets {
      @TsRestHandler(routes)
      @FreqLimit({ window: '1m', limit: 1, countWhen: 'failure' })
      handler() {
        return Promise.resolve(
          tsRestHandler(routes, {
            list: () => Promise.resolve({ status: 200, body: done('list') }),
            create: () => Promise.resolve({ status: 409, body: done('nothing') }),
          }),
        );
      }
    }
    const { url } = await startApp(platform, { controllers: [Planets], limits: limitsIn(kind, suite) });
    expect(await statuses(3, send(url, 'list'))).toEqual([200, 200, 200]);
    expect(await statuses(3, send(url, 'create'))).toEqual([409, 429, 429]);
  });
});
