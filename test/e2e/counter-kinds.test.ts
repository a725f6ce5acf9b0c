import { Controller, Get } from '@nestjs/common';
import { FreqLimit, type FreqLimitOptions, type FreqLimitRule, type Verdict } from 'nestjs-freq-limit';
import { durationInWords } from '../../src/core/duration-text.js';
import { startApp, statuses } from '../support/app.js';
import { limitHeaders } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { type CounterName, COUNTERS, hasBlock, limited, THREE } from '../support/limited.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();

const HOUR = 3_600;
const PASSING = [200, 200, 200, 429];

/** The seconds of a header value: the ones after `w=`, or the number itself. */
function secondsIn(header: string | undefined): number {
  return Number(/w=(\d+)/.exec(header ?? '')?.[1] ?? header);
}

/** Seconds until the year ends in Tokyo, and the length of the year. */
function yearInTokyo(): { left: number; length: number } {
  const offset = 9 * HOUR;
  const now = Date.now() / 1_000;
  const year = new Date((now + offset) * 1_000).getUTCFullYear();
  const start = Date.UTC(year, 0, 1) / 1_000 - offset;
  const end = Date.UTC(year + 1, 0, 1) / 1_000 - offset;
  return { left: end - now, length: end - start };
}

/** The `w` of the first answers of each kind, its `Retry-After`, and by how much each may be off, in seconds. */
function expectedTimes(counter: CounterName): { w: number[]; retryAfter: number; off: number } {
  if (counter.includes('calendar')) {
    const { left } = yearInTokyo();
    return { w: [left, left, left, left], retryAfter: left, off: 3 };
  }
  const end = hasBlock(counter) ? 2 * HOUR : undefined;
  if (counter.includes('bucket')) {
    return { w: [1_200, 2_400, HOUR, end ?? HOUR], retryAfter: end ?? 1_200, off: 3 };
  }
  // a charge counts up to 1/16 of the window longer
  const off = counter.includes('sliding') ? HOUR / 16 + 3 : 3;
  return { w: [HOUR, HOUR, HOUR, end ?? HOUR], retryAfter: end ?? HOUR, off };
}

describe.each(EVERYWHERE)('on %s, in %s', (platform, kind) => {
  const start = (rule: FreqLimitRule, options: FreqLimitOptions = {}) => {
    const limits = { ...limitsIn(kind, suite), ...options };
    return startApp(platform, { controllers: [limited(FreqLimit(rule))], limits });
  };

  describe.each(COUNTERS)('%s', (counter) => {
    it('allows its limit, and says the rest and the times in headers', async () => {
      const { url } = await start({ ...THREE[counter], name: 'x' }, { headers: 'both' });
      const answers = [];
      for (let i = 0; i < 4; i++) {
        const response = await fetch(url);
        answers.push({ status: response.status, headers: limitHeaders(response) });
      }
      expect(answers.map(({ status }) => status)).toEqual(PASSING);
      const available = answers.map(({ headers }) => /a=(\d+)/.exec(headers['ratelimit'] ?? '')?.[1]);
      expect(available).toEqual(['2', '1', '0', '0']);
      const { w, retryAfter, off } = expectedTimes(counter);
      for (const [i, { headers }] of answers.entries()) {
        const seconds = secondsIn(headers['ratelimit']);
        expect(Math.abs(seconds - w[i]!)).toBeLessThanOrEqual(off);
        expect(headers['x-ratelimit-limit']).toBe('3');
        expect(headers['x-ratelimit-remaining']).toBe(available[i]);
        expect(Number(headers['x-ratelimit-reset'])).toBe(seconds);
        const length = counter.includes('calendar') ? yearInTokyo().length : HOUR;
        expect(headers['ratelimit-policy']).toBe(`"x";q=3;w=${length}`);
      }
      const denied = Number(answers[3]?.headers['retry-after']);
      expect(Math.abs(denied - retryAfter)).toBeLessThanOrEqual(off);
    });

    it('denies with the usual body, and the block in the verdict', async () => {
      const verdicts: Verdict[] = [];
      const onDenied = ({ verdict }: { verdict: Verdict }): void => void verdicts.push(verdict);
      const { url } = await start(THREE[counter], { onDenied });
      await statuses(3, () => fetch(url));
      const response = await fetch(url);
      const body = (await response.json()) as Record<string, unknown>;
      const retryAfter = Number(response.headers.get('retry-after'));
      expect(body).toEqual({
        statusCode: 429,
        error: 'Too Many Requests',
        message: `Too many requests. Try again in ${durationInWords(retryAfter)}.`,
        retryAfter,
      });
      const result = verdicts[0]?.tightest;
      expect(result).toMatchObject({ allowed: false, used: 3, remaining: 0, cost: 1, source: 'store' });
      expect(result?.blocked).toBe(hasBlock(counter) ? true : undefined);
      expect(Math.ceil((result?.retryAfterMs ?? 0) / 1_000)).toBe(retryAfter);
    });

    it('counts by the rule’s key', async () => {
      const { url } = await start({ ...THREE[counter], key: '{query.user}' });
      for (const user of ['ann', 'bob']) {
        expect(await statuses(4, () => fetch(`${url}?user=${user}`))).toEqual(PASSING);
      }
    });

    it('is possible in namedRules, and a reference changes it in parts', async () => {
      @Controller()
      class Named {
        @Get('a')
        @FreqLimit('three')
        a() {
          return 'ok';
        }
        @Get('b')
        @FreqLimit('three', { limit: 1 })
        b() {
          return 'ok';
        }
      }
      const limits = { ...limitsIn(kind, suite), namedRules: { three: THREE[counter] } };
      const { url } = await startApp(platform, { controllers: [Named], limits });
      expect(await statuses(4, () => fetch(`${url}/a`))).toEqual(PASSING);
      expect(await statuses(2, () => fetch(`${url}/b`))).toEqual([200, 429]);
    });

    it('is possible in the module’s rules, for all handlers together', async () => {
      @Controller()
      class Two {
        @Get('a')
        a() {
          return 'ok';
        }
        @Get('b')
        b() {
          return 'ok';
        }
      }
      const limits = { ...limitsIn(kind, suite), rules: [THREE[counter]] };
      const { url } = await startApp(platform, { controllers: [Two], limits });
      expect(await statuses(2, () => fetch(`${url}/a`))).toEqual([200, 200]);
      expect(await statuses(2, () => fetch(`${url}/b`))).toEqual([200, 429]);
    });
  });

  it('takes calendars in the positional form, with a key', async () => {
    const byTenant = FreqLimit({ calendar: 'month', timeZone: 'Europe/Berlin' }, 2, '{headers.x-tenant}');
    const limits = limitsIn(kind, suite);
    const { url } = await startApp(platform, { controllers: [limited(byTenant)], limits });
    for (const tenant of ['acme', 'initech']) {
      const send = () => fetch(url, { headers: { 'x-tenant': tenant } });
      expect((await send()).headers.get('ratelimit-policy')).toMatch(/^"month";q=2;w=2\d{6}$/);
      expect(await statuses(2, send)).toEqual([200, 429]);
    }
  });

  it.each([
    ['sliding-window', 16],
    ['token-bucket', 3],
  ] as const)('counts by the module’s algorithm %s', async (algorithm, waits) => {
    const limits = { ...limitsIn(kind, suite), algorithm };
    const { url } = await startApp(platform, { controllers: [limited(FreqLimit('48s', 3))], limits });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 200]);
    const { status, headers } = await fetch(url);
    expect([status, headers.get('ratelimit-policy')]).toEqual([429, '"48s";q=3;w=48']);
    // a bucket refills one unit in a third of the window; a sliding window has its first one back after 48 to 51 seconds
    const seconds = Number(headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(waits === 3 ? 15 : 47);
    expect(seconds).toBeLessThanOrEqual(waits === 3 ? 16 : 51);
  });
});

describe('a mixture of all kinds on one handler', () => {
  it.each(EVERYWHERE)('is decided all or none, on %s, in %s', async (platform, kind) => {
    const rules = COUNTERS.map((counter, i) => {
      const key = `{headers.x-${i}}`;
      return FreqLimit({ ...THREE[counter], key, name: `r${i}` });
    });
    const limits = { ...limitsIn(kind, suite), denyCache: false };
    const { url } = await startApp(platform, { controllers: [limited(...rules)], limits });
    const send = async (values: readonly string[]): Promise<unknown[]> => {
      const headers = Object.fromEntries(values.map((value, i) => [`x-${i}`, value]));
      const response = await fetch(url, { headers });
      const rest = response.headers.get('ratelimit') ?? '';
      return [response.status, ...[...rest.matchAll(/a=(\d+)/g)].map(([, a]) => Number(a))];
    };
    const values = COUNTERS.map(() => 'first');
    for (const left of [2, 1, 0]) expect(await send(values)).toEqual([200, ...COUNTERS.map(() => left)]);
    // only one rule denies at a time, and no other one is charged
    for (const [i] of COUNTERS.entries()) {
      const others = COUNTERS.map((_, j) => (j === i ? 'first' : `other${i}`));
      for (let n = 0; n < 3; n++) {
        expect(await send(others)).toEqual([429, ...COUNTERS.map((_, j) => (j === i ? 0 : 3))]);
      }
    }
    expect(await send(COUNTERS.map(() => 'new'))).toEqual([200, ...COUNTERS.map(() => 2)]);
  });
});
