import { Body, Controller, Post } from '@nestjs/common';
import { FreqLimit } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';

@Controller('sms')
@FreqLimit('1m', 600, '{ip}')
class SmsController {
  @Post('code')
  @FreqLimit('1m', 1, 'phone:{body.phone}')
  @FreqLimit({ window: '1d', limit: 10, key: 'phone:{body.phone}', name: 'daily' })
  send(@Body() body: { phone?: string }) {
    return { sentTo: body.phone };
  }
}

afterEach(closeApps);

describe.each(PLATFORMS)('the quick start on %s', (platform) => {
  it('lets one code a minute go to a phone', async () => {
    const { url } = await startApp(platform, { controllers: [SmsController] });
    const send = (phone: string): Promise<Response> =>
      fetch(`${url}/sms/code`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ phone }),
      });
    expect(await statuses(3, () => send('13800000000'))).toEqual([201, 429, 429]);
    const other = await send('13900000000');
    expect(other.status).toBe(201);
    expect(other.headers.get('ratelimit-policy')).toBe(
      '"1m";q=600;w=60, "1m-2";q=1;w=60, "daily";q=10;w=86400',
    );
    expect(other.headers.get('ratelimit')).toBe('"1m";a=598;w=60, "1m-2";a=0;w=60, "daily";a=9;w=86400');
    const denied = await send('13900000000');
    expect(denied.headers.get('retry-after')).toBe('60');
    expect(await denied.json()).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Too many requests, try again in 60 s',
      retryAfter: 60,
    });
  });
});
