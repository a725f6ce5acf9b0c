import { Controller, Get } from '@nestjs/common';
import { FreqLimit, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startBehindProxy, startApp, statuses } from '../support/app.js';
import { limitHeaders } from '../support/http.js';

afterEach(closeApps);

@Controller()
class Limited {
  @Get()
  @FreqLimit({ window: '1m', limit: 1, key: '{ip}', name: 'one' })
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('requests that are not limited on %s', (platform) => {
  it('come from an address in skipAddresses, and have no header and no counter', async () => {
    const { url, app } = await startApp(platform, {
      controllers: [Limited],
      limits: { skipAddresses: ['::1', '127.0.0.0/8'] },
    });
    const answer = await fetch(url);
    expect([answer.status, limitHeaders(answer)]).toEqual([200, {}]);
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 200]);
    const check = { controller: Limited, handler: 'get', rule: 'one', key: '127.0.0.1' };
    expect((await app.get(FreqLimitService).peek(check)).tightest?.used).toBe(0);
  });

  it('come from the exact address, and not from another in the same /64', async () => {
    const { url } = await startBehindProxy(platform, Limited, {
      skipAddresses: ['2001:db8::1', '203.0.113.0/24'],
    });
    const send = (address: string) => () => fetch(url, { headers: { 'x-forwarded-for': address } });
    expect(await statuses(2, send('2001:DB8:0::1'))).toEqual([200, 200]);
    expect(await statuses(2, send('2001:db8::2'))).toEqual([200, 429]);
    expect(await statuses(2, send('::ffff:203.0.113.9'))).toEqual([200, 200]);
    expect(await statuses(2, send('203.0.114.9'))).toEqual([200, 429]);
    // the client wrote the first address, and the proxy added the second
    expect(await statuses(1, send('203.0.113.9, 203.0.114.9'))).toEqual([429]);
  });

  it('do not come through a second, untrusted proxy, even if its address is in skipAddresses', async () => {
    const { url } = await startBehindProxy(platform, Limited, { skipAddresses: ['10.0.0.0/8'] });
    const send = (list: string) => () => fetch(url, { headers: { 'x-forwarded-for': list } });
    expect(await statuses(2, send('10.0.0.2'))).toEqual([200, 200]);
    expect(await statuses(2, send('203.0.113.9, 10.0.0.2'))).toEqual([200, 429]);
  });

  it('have a user agent in skipUserAgents', async () => {
    const { url } = await startApp(platform, {
      controllers: [Limited],
      limits: { skipUserAgents: [/^kube-probe\//g, 'Uptime'] },
    });
    const send = (agent: string) => () => fetch(url, { headers: { 'user-agent': agent } });
    expect(await statuses(3, send('kube-probe/1.30'))).toEqual([200, 200, 200]);
    expect(await statuses(3, send('UptimeRobot/2.0'))).toEqual([200, 200, 200]);
    expect(await statuses(2, send('Mozilla/5.0'))).toEqual([200, 429]);
  });
});

it('a wrong entry of skipAddresses stops the application', async () => {
  await expect(startApp('express', { limits: { skipAddresses: ['10.0.0.0/99'] } })).rejects.toThrow(
    'FreqLimitModule: skipAddresses[0]: "10.0.0.0/99" is not an address',
  );
});
