import { Controller, Get } from '@nestjs/common';
import {
  defineRule,
  FreqLimit,
  FreqLimitModule,
  type FreqLimitRule,
  FreqLimitService,
} from 'nestjs-freq-limit';
import { closeApps, serve, startApp, statuses } from '../support/app.js';

afterEach(closeApps);

const NUMBER = 'it is a string, perhaps from the environment: write Number(…)';
const BOOLEAN = "it is a string, perhaps from the environment: write … === 'true'";
const NOT_SET = 'Number(undefined) is NaN: is an environment variable not set?';

const start = (options: object): Promise<unknown> =>
  serve('express', { imports: [FreqLimitModule.forRoot(options)] });

function controllerWith(rule: object) {
  @Controller()
  class Files {
    @Get()
    @FreqLimit({ window: '1m', limit: 1, ...rule } as FreqLimitRule)
    get() {
      return 'file';
    }
  }
  return Files;
}

describe('a string from the environment', () => {
  it.each<[string, object, string]>([
    ['timeoutMs', { timeoutMs: '250' }, NUMBER],
    ['timeoutMs', { timeoutMs: Number(process.env['NOT_SET']) }, NOT_SET],
    ['maxCounters', { maxCounters: '1000' }, NUMBER],
    ['fallbackShare', { fallbackShare: '0.25' }, NUMBER],
    ['ipv6Subnet', { ipv6Subnet: '56' }, NUMBER],
    ['coalesce', { coalesce: 'true' }, BOOLEAN],
    ['denyCache', { denyCache: '0' }, BOOLEAN],
    ['countDenied', { countDenied: 'False' }, BOOLEAN],
    ['redis: port', { redis: { host: 'localhost', port: '6379' } }, NUMBER],
    ['redis: db', { redis: { host: 'localhost', db: '1' } }, NUMBER],
    ['limit', { rules: [{ window: '1m', limit: '5' }] }, `${NUMBER} or use defineRule`],
    ['limit', { namedRules: { login: { window: '1m', limit: '5' } } }, `${NUMBER} or use defineRule`],
    ['window', { rules: [{ window: '60', limit: 5 }] }, "its unit is missing; write '60s' or Number('60')"],
  ])('for the option %s stops the application with what to write: %j', async (option, options, hint) => {
    await expect(start(options)).rejects.toThrow(`${option}: `);
    await expect(start(options)).rejects.toThrow(hint);
  });

  it.each([
    [{ limit: '5' }, `limit: "5" is not a whole number from 0 to 2^53 - 1, or a function; ${NUMBER} or use`],
    [{ cost: '2' }, `${NUMBER} or use defineRule`],
    [{ limit: NaN }, NOT_SET],
    [{ hidden: 'true' }, BOOLEAN],
    [{ window: '60' }, 'window: "60" is not a window, because its unit is missing'],
  ])('in a decorator stops the application with what to write: %j', async (rule, message) => {
    await expect(startApp('express', { controllers: [controllerWith(rule)] })).rejects.toThrow(message);
  });

  it('is converted by defineRule', async () => {
    const controllers = [controllerWith(defineRule({ window: '1h', limit: '2' }))];
    const { url } = await startApp('express', { controllers });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
  });

  it('is an error for the service', async () => {
    const { app } = await startApp('express', {});
    const limits = app.get(FreqLimitService);
    const wrong = { key: 'a', window: '1m', limit: '5' };
    await expect(limits.consume(wrong as never)).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_CHECK',
      message: `consume: check: limit: "5" is not a whole number from 0 to 2^53 - 1; ${NUMBER}`,
    });
    await expect(limits.peek({ key: 'a', window: '60' as never })).rejects.toThrow('its unit is missing');
  });
});
