import { Body, Controller, Post, type Type } from '@nestjs/common';
import { FreqLimit, FreqLimitService } from 'nestjs-freq-limit';
import { type Platform, PLATFORMS, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

const suite = redisSuite();

@Controller()
class Codes {
  @Post()
  @FreqLimit({ window: '1m', limit: 2, key: 'phone:{body.phone}', name: 'phone' })
  @FreqLimit({ window: '1m', limit: 5, key: '{ip}', name: 'address' })
  @FreqLimit({ window: '1h', limit: 5, key: '{body.email}', name: 'email' })
  @FreqLimit({ window: '1h', limit: 50, key: () => 'acme-tenant', name: 'tenant' })
  @FreqLimit({ window: '1h', limit: 500, key: 'everybody', name: 'all' })
  send(@Body() body: unknown) {
    return { body };
  }
}

const BODY = { phone: '13800000000', email: 'victim@example.org' };
const SECRET = 'correct horse battery staple';

describe.each(PLATFORMS)('keys hashed by a secret on %s', (platform: Platform) => {
  const start = (secret: string | undefined) => {
    const limits = {
      redis: redisUrl(),
      namespace: suite.namespace,
      timeoutMs: 5_000,
      ...(secret === undefined ? {} : { hashKeys: { secret } }),
    };
    return startApp(platform, { controllers: [Codes as Type], limits });
  };
  const texts = async (): Promise<string[]> =>
    (await keysOf(suite.client, suite.namespace)).map((key) => key.split(':').at(-1)!).sort();

  it('contain no value of a client', async () => {
    const { url, app } = await start(SECRET);
    expect(await statuses(3, () => post(url, BODY))).toEqual([201, 201, 429]);
    // no key at all: by address
    expect((await post(url, {})).status).toBe(201);
    const service = app.get(FreqLimitService);
    await service.consume({ key: ['mail', 'victim@example.org'], window: '1h' });
    const keys = await keysOf(suite.client, suite.namespace);
    // counters: four of clients with a body, two by address without a key, one of the service, one for all clients
    expect(keys).toHaveLength(8);
    expect(keys.join('\n')).not.toMatch(/138|victim|example|127\.0\.0\.1|acme|!ip|:mail|~[\w-]{22}/);
    expect((await texts()).filter((text) => !text.startsWith('#'))).toEqual(['everybody']);
  });

  it('are found by their plain values', async () => {
    const { url, app } = await start(SECRET);
    await statuses(2, () => post(url, BODY));
    await post(url, { phone: BODY.phone });
    const service = app.get(FreqLimitService);
    const of = { controller: Codes, handler: 'send' };
    const phone = { ...of, rule: 'phone', key: BODY.phone };
    const byAddress = { ...of, rule: 'email', address: '127.0.0.1' };
    expect((await service.peek(phone)).tightest?.used).toBe(2);
    expect((await service.peek({ ...of, rule: 'address', key: '::ffff:127.0.0.1' })).tightest?.used).toBe(2);
    expect((await service.peek({ ...of, rule: 'tenant', key: 'acme-tenant' })).tightest?.used).toBe(2);
    expect((await service.peek({ ...of, rule: 'all' })).tightest?.used).toBe(2);
    expect((await service.peek(byAddress)).tightest?.used).toBe(0);
    await service.reset(phone);
    expect(await statuses(3, () => post(url, { phone: BODY.phone }))).toEqual([201, 201, 429]);
    expect((await service.peek(byAddress)).tightest?.used).toBe(2);
    await service.consume({ key: 'mail', window: '1h' });
    expect((await service.peek({ key: 'mail', window: '1h' })).tightest?.used).toBe(1);
  });

  it('differ with another secret, and from plain keys', async () => {
    const seen: string[][] = [];
    for (const secret of [undefined, SECRET, `${SECRET}!`]) {
      const { url } = await start(secret);
      expect(await statuses(3, () => post(url, BODY))).toEqual([201, 201, 429]);
      seen.push(await texts());
    }
    const counts = seen.map((list) => list.length);
    // the counter of the constant key stays the same
    expect(counts).toEqual([5, 9, 13]);
    expect(seen[0]).toEqual(
      ['127.0.0.1', 'acme-tenant', 'everybody', '13800000000', 'victim@example.org'].sort(),
    );
  });
});
