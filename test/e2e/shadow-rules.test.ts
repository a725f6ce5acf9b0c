import { Controller, Get } from '@nestjs/common';
import { jest } from '@jest/globals';
import { tried, trial, wouldDeny } from '../../examples/http/observing.js';
import {
  FreqLimit,
  type FreqLimitEvent,
  type FreqLimitOptions,
  FreqLimitVerdict,
  type Verdict,
} from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders, remaining } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { freePort } from '../support/server.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

const { lines } = captureLog();

const minute = { window: '1m', limit: 2, name: 'minute' } as const;

@Controller()
class Limited {
  @Get()
  @FreqLimit(minute)
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('a shadow rule on %s', (platform) => {
  const shadow = { window: '1m', limit: 1, name: 'shadow', shadow: true } as const;
  const results = (verdicts: Verdict[]) =>
    verdicts.map((verdict) => [
      verdict.allowed,
      ...verdict.results.map((result) => [
        result.name,
        result.allowed,
        result.used,
        result.remaining,
        result.limit,
        result.shadow,
      ]),
    ]);

  it.each(['memory', 'redis'])('logs and never denies, %s', async (kind) => {
    const verdicts: Verdict[] = [];
    const onDenied = jest.fn();
    @Controller()
    class Tried {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, name: 'real' })
      @FreqLimit(shadow)
      get(@FreqLimitVerdict() verdict: Verdict) {
        verdicts.push(verdict);
        return 'ok';
      }
    }
    const limits = { ...(kind === 'redis' ? inRedis() : {}), onDenied, headers: 'both' } as const;
    const { url } = await startApp(platform, { controllers: [Tried], limits });
    const answers = [];
    for (let i = 0; i < 4; i++) {
      const response = await fetch(url);
      answers.push([
        response.status,
        limitHeaders(response)['ratelimit'],
        limitHeaders(response)['x-ratelimit-limit'],
      ]);
    }
    expect(answers).toEqual([
      [200, '"real";a=2;w=60', '3'],
      [200, '"real";a=1;w=60', '3'],
      [200, '"real";a=0;w=60', '3'],
      [429, '"real";a=0;w=60', '3'],
    ]);
    expect(results(verdicts)).toEqual([
      [true, ['real', true, 1, 2, 3, undefined], ['shadow', true, 1, 0, 1, true]],
      [true, ['real', true, 2, 1, 3, undefined], ['shadow', false, 1, 0, 1, true]],
      [true, ['real', true, 3, 0, 3, undefined], ['shadow', false, 1, 0, 1, true]],
    ]);
    expect(verdicts.map(({ tightest }) => tightest?.name)).toEqual(['real', 'real', 'real']);
    expect(onDenied).toHaveBeenCalledTimes(1);
    expect(lines).toEqual([
      'FREQ_LIMIT_SHADOW_DENIED: Tried.get, rule "shadow": this shadow rule would have denied a request',
    ]);
  });

  it('is not charged for a request that another rule denies, except with countDenied', async () => {
    const verdicts: Verdict[] = [];
    @Controller()
    class Denied {
      @Get()
      @FreqLimit({ ...minute, limit: 1 })
      @FreqLimit({ ...shadow, limit: 2, name: 'quiet' })
      @FreqLimit({ ...shadow, limit: 2, name: 'all', countDenied: true })
      get() {
        return 'ok';
      }
    }
    const onVerdict = ({ verdict }: FreqLimitEvent): void => void verdicts.push(verdict);
    const { url } = await startApp(platform, { controllers: [Denied], limits: { ...inRedis(), onVerdict } });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429]);
    expect(results(verdicts).map(([, , ...rest]) => rest)).toEqual([
      [
        ['quiet', true, 1, 1, 2, true],
        ['all', true, 1, 1, 2, true],
      ],
      [
        ['quiet', true, 1, 1, 2, true],
        ['all', true, 2, 0, 2, true],
      ],
      [
        ['quiet', true, 1, 1, 2, true],
        ['all', false, 3, 0, 2, true],
      ],
    ]);
  });

  it('sends no headers if it is the only rule', async () => {
    @Controller()
    class Alone {
      @Get()
      @FreqLimit({ ...shadow, limit: 0 })
      get(@FreqLimitVerdict() { allowed, tightest, results: [result] }: Verdict) {
        return { allowed, hasTightest: tightest !== undefined, would: result?.allowed };
      }
    }
    for (const headers of ['both', 'legacy'] as const) {
      const { url } = await startApp(platform, { controllers: [Alone], limits: { headers } });
      const response = await fetch(url);
      expect([response.status, limitHeaders(response)]).toEqual([200, {}]);
      expect(await response.json()).toEqual({ allowed: true, hasTightest: false, would: false });
    }
  });

  it('denies nothing if its functions fail or its key is missing, and other rules still apply', async () => {
    const fails = (message: string) => () => Promise.reject(new Error(message));
    @Controller()
    class Failing {
      @Get()
      @FreqLimit({ ...minute, name: 'real' })
      @FreqLimit({ ...shadow, name: 'key', key: fails('no key') })
      @FreqLimit({ ...shadow, name: 'limit', limit: () => NaN })
      @FreqLimit({
        ...shadow,
        name: 'skip',
        skipIf: () => {
          throw new Error('no skip');
        },
      })
      @FreqLimit({ ...shadow, name: 'missing', key: '{headers.x-none}', onMissingKey: 'deny' })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Failing] });
    const response = await fetch(url);
    expect([response.status, remaining(response)]).toEqual([200, { real: 1 }]);
    // at most once a minute
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(lines.sort()).toEqual([
      'FREQ_LIMIT_SHADOW_FAILED: A shadow rule was skipped for a request: @FreqLimit on Failing.get, rule "key": the key function failed: no key',
      'FREQ_LIMIT_SHADOW_FAILED: A shadow rule was skipped for a request: @FreqLimit on Failing.get, rule "limit": the limit function returned NaN, which is not a whole number from 0 to 2^53 - 1',
      'FREQ_LIMIT_SHADOW_FAILED: A shadow rule was skipped for a request: @FreqLimit on Failing.get, rule "skip": the skipIf function failed: no skip',
    ]);
  });

  it('denies nothing while the store cannot answer, whatever its onStoreError', async () => {
    const verdicts: Verdict[] = [];
    @Controller()
    class Down {
      @Get()
      @FreqLimit({ ...shadow, onStoreError: 'deny' })
      get(@FreqLimitVerdict() verdict: Verdict) {
        verdicts.push(verdict);
        return 'ok';
      }
    }
    const redis = `redis://127.0.0.1:${await freePort()}`;
    const { url } = await startApp(platform, { controllers: [Down], limits: { redis } });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 200]);
    expect(verdicts.map(({ results: [result] }) => [result?.source, result?.allowed])).toEqual([
      ['allow', true],
      ['allow', true],
      ['allow', true],
    ]);
  });

  it('logs at once, and then once a minute the number of requests', async () => {
    let nowMs = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    @Controller()
    class Loud {
      @Get()
      @FreqLimit({ window: '1h', limit: 1, name: 'loud', shadow: true })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Loud] });
    await statuses(5, () => fetch(url));
    nowMs += 59_000;
    await statuses(2, () => fetch(url));
    nowMs += 2_000;
    await statuses(2, () => fetch(url));
    expect(lines).toEqual([
      'FREQ_LIMIT_SHADOW_DENIED: Loud.get, rule "loud": this shadow rule would have denied a request',
      'FREQ_LIMIT_SHADOW_DENIED: Loud.get, rule "loud": this shadow rule would have denied 6 requests since the last such line',
    ]);
  });

  it('lists the clients of the example that it would have denied', async () => {
    wouldDeny.length = 0;
    const limits = { ...trial, rules: [{ ...tried, limit: 1 }] };
    const { url } = await startApp(platform, { controllers: [Limited], limits });
    await statuses(2, () => fetch(url));
    expect(wouldDeny).toEqual([['tried', expect.any(Number), Limited]]);
  });
});
