import { Controller, type ExecutionContext, Get } from '@nestjs/common';
import { FreqLimit, FreqLimitService } from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { remaining } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

const suite = redisSuite();

const LIMITS: Record<string, number> = { free: 2, pro: 4 };
/** The plan of each tenant; it may change at any time. */
const plans = new Map<string, string>();

function tenantOf(context: ExecutionContext): string | undefined {
  return context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-tenant'];
}

/** Async, like a look-up of the plan. */
async function limitOf(context: ExecutionContext): Promise<number> {
  const plan = await Promise.resolve(plans.get(tenantOf(context) ?? '') ?? 'free');
  return LIMITS[plan]!;
}

@Controller()
class Reports {
  @Get()
  @FreqLimit({ name: 'plan', window: '1h', limit: limitOf, key: tenantOf })
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('a limit by the tenant’s plan on %s', (platform) => {
  describe.each(['memory', 'redis'] as const)('in %s', (kind) => {
    const start = async () => {
      const limits = {
        namespace: suite.namespace,
        ...(kind === 'redis' ? { redis: redisUrl(), timeoutMs: 5_000 } : {}),
      };
      const { url, app } = await startApp(platform, { controllers: [Reports], limits });
      const as = (tenant: string) => () => fetch(url, { headers: { 'x-tenant': tenant } });
      return { url, as, service: app.get(FreqLimitService) };
    };
    beforeEach(() => {
      plans.clear();
      plans.set('acme', 'free').set('globex', 'pro');
    });

    it('is separate for each tenant', async () => {
      const { as, url } = await start();
      expect(await statuses(3, as('acme'))).toEqual([200, 200, 429]);
      expect(await statuses(5, as('globex'))).toEqual([200, 200, 200, 200, 429]);
      expect((await as('globex')()).headers.get('ratelimit-policy')).toBe('"plan";q=4;w=3600');
      // a request of an unknown tenant has the smallest plan, by address
      expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
    });

    it('changes at once with the plan, on the same counter', async () => {
      const { as } = await start();
      expect(await statuses(3, as('acme'))).toEqual([200, 200, 429]);
      plans.set('acme', 'pro');
      const raised = await as('acme')();
      expect([raised.status, remaining(raised)]).toEqual([200, { plan: 1 }]);
      expect(await statuses(2, as('acme'))).toEqual([200, 429]);
      plans.set('acme', 'free');
      const lowered = await as('acme')();
      expect([lowered.status, remaining(lowered)]).toEqual([429, { plan: 0 }]);
      expect(lowered.headers.get('ratelimit-policy')).toBe('"plan";q=2;w=3600');
      expect(await statuses(1, as('globex'))).toEqual([200]);
      const keys = await keysOf(suite.client, suite.namespace);
      expect(keys).toHaveLength(kind === 'redis' ? 2 : 0);
    });

    it('can be read and reset by the tenant’s name', async () => {
      const { as, service } = await start();
      await statuses(3, as('acme'));
      const check = { controller: Reports, handler: 'get', rule: 'plan', key: 'acme' };
      expect((await service.peek({ ...check, limit: 4 })).tightest).toMatchObject({ used: 2, remaining: 2 });
      await expect(service.peek(check)).rejects.toMatchObject({ code: 'FREQ_LIMIT_INVALID_CHECK' });
      await service.reset(check);
      expect(await statuses(3, as('acme'))).toEqual([200, 200, 429]);
    });
  });
});
