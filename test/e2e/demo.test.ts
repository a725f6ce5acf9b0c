import { AppModule } from '../../examples/sms/app.module.js';
import { closeApps, PLATFORMS, serve, statuses } from '../support/app.js';
import { post, remaining } from '../support/http.js';

afterEach(closeApps);

describe.each(PLATFORMS)('the demo on %s', (platform) => {
  it('answers as it says it does', async () => {
    const { url } = await serve(platform, { imports: [AppModule] });
    const first = await post(`${url}/sms/code`, { phone: '13800000000' });
    expect(first.status).toBe(202);
    expect(first.headers.get('ratelimit')).toBe(
      '"address";a=29;w=60, "minute";a=0;w=60, "daily";a=9;w=86400',
    );
    const again = await post(`${url}/sms/code`, { phone: '13800000000' });
    expect([again.status, remaining(again)['daily']]).toEqual([429, 9]);
    expect((await post(`${url}/sms/code`, { phone: '13900000000' })).status).toBe(202);
    expect(await statuses(2, () => post(`${url}/sms/code`, {}))).toEqual([202, 429]);
    const quota = await (await fetch(`${url}/sms/quota?phone=13800000000`)).json();
    expect(quota).toMatchObject([
      { name: 'minute', remaining: 0 },
      { name: 'daily', remaining: 9 },
    ]);
    const guess = { user: 'ann', password: 'guess' };
    expect(await statuses(4, () => post(`${url}/login`, guess))).toEqual([401, 401, 401, 429]);
  });
});
