import { AppModule as Accounts } from '../../examples/keys/accounts.js';
import { AppModule as Api, plans } from '../../examples/configuration/api.js';
import { closeApps, PLATFORMS, serve, statuses } from '../support/app.js';
import { post, remaining } from '../support/http.js';

afterEach(closeApps);

describe.each(PLATFORMS)('the examples on %s', (platform) => {
  it('of keys count all spellings of an e-mail address and of a phone number together', async () => {
    const { url } = await serve(platform, { imports: [Accounts] });
    const emails = ['Jo@Example.org', ' jo@example.org', 'JO@EXAMPLE.ORG\n', 'jo@example.org'];
    const seen: number[] = [];
    for (const email of emails) seen.push((await post(`${url}/accounts/reset`, { email })).status);
    expect(seen).toEqual([201, 201, 201, 429]);
    const phones = ['+86 138 0000 0000', '0086-13800000000'];
    const left: unknown[] = [];
    for (const phone of phones) left.push(remaining(await post(`${url}/accounts/call`, { phone })));
    expect(left).toEqual([{ call: 4 }, { call: 3 }]);
  });

  it('of configuration apply the limits of the settings', async () => {
    const { url } = await serve(platform, { imports: [Api] });
    const tenant = { headers: { 'x-tenant': 'acme' } };
    expect(await statuses(2, () => fetch(`${url}/export`, tenant))).toEqual([200, 429]);
    // a log-in that succeeds does not count
    expect(await statuses(7, () => post(`${url}/login`, { user: 'jo' }))).toEqual(Array(7).fill(201));
    expect(await statuses(4, () => fetch(`${url}/report`, tenant))).toEqual([200, 200, 200, 429]);
    const before = plans['acme'];
    plans['acme'] = 10;
    try {
      const response = await fetch(`${url}/report`, tenant);
      expect([response.status, remaining(response)]).toMatchObject([200, { plan: 6 }]);
    } finally {
      plans['acme'] = before!;
    }
    const checks = { headers: { 'x-tenant': 'acme', 'user-agent': 'HealthCheck/1.0' } };
    expect(await statuses(3, () => fetch(`${url}/export`, checks))).toEqual([200, 200, 200]);
  });
});
