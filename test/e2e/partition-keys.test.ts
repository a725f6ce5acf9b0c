import { Controller, Get, Post } from '@nestjs/common';
import { parseList } from 'structured-headers';
import { FreqLimit } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp } from '../support/app.js';
import { post } from '../support/http.js';

const SECRET = 'a secret of the tests';

@Controller()
class Sms {
  @Post('code')
  @FreqLimit({ name: 'phone', window: '1m', limit: 5, key: 'phone:{body.phone}' })
  @FreqLimit({ name: 'all', window: '1m', limit: 100, key: 'everybody' })
  send() {
    return 'sent';
  }
  @Get()
  @FreqLimit('1m', 5)
  get() {
    return 'ok';
  }
}

afterEach(closeApps);

type Parameters = Record<string, unknown>;

function items(response: Response, header: string): Record<string, Parameters> {
  const list = parseList(response.headers.get(header) ?? '');
  return Object.fromEntries(
    list.map(([name, parameters]) => [name as string, Object.fromEntries(parameters)]),
  );
}

describe.each(PLATFORMS)('partition keys on %s', (platform) => {
  it('are byte sequences, equal in both headers, one for each value, and absent for a constant', async () => {
    const limits = { hashKeys: { secret: SECRET }, partitionKeys: true };
    const { url } = await startApp(platform, { controllers: [Sms], limits });
    const seen: string[] = [];
    for (const phone of ['13800000000', '13800000001', '13800000000']) {
      const response = await post(`${url}/code`, { phone });
      const { phone: policy, all } = items(response, 'ratelimit-policy');
      const { phone: limit } = items(response, 'ratelimit');
      expect(policy?.['pk']).toBeInstanceOf(ArrayBuffer);
      expect(policy?.['pk']).toEqual(limit?.['pk']);
      expect(all).toEqual({ q: 100, w: 60 });
      const text = Buffer.from(policy?.['pk'] as ArrayBuffer).toString();
      expect(text).not.toContain('13800000');
      seen.push(text);
    }
    expect(seen[0]).toBe(seen[2]);
    expect(seen[0]).not.toBe(seen[1]);
  });

  it('are absent by default', async () => {
    const { url } = await startApp(platform, {
      controllers: [Sms],
      limits: { hashKeys: { secret: SECRET } },
    });
    const response = await fetch(url);
    expect(items(response, 'ratelimit')).toEqual({ '1m': { a: 4, w: 60 } });
  });
});

it('partition keys without a secret are rejected at start-up', async () => {
  await expect(startApp('express', { limits: { partitionKeys: true } })).rejects.toThrow(
    'FreqLimitModule: partitionKeys: needs hashKeys',
  );
});
