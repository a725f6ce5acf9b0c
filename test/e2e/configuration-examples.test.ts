import { AppModule as FromEnvironment } from '../../examples/configuration/environment.js';
import { AppModule as InVariables } from '../../examples/configuration/variables.js';
import { closeApps, PLATFORMS, serve, statuses } from '../support/app.js';
import { post } from '../support/http.js';

afterEach(closeApps);

describe.each(PLATFORMS)('the examples of configuration on %s', (platform) => {
  it('apply rules in variables, in lists, and in named rules', async () => {
    const { url } = await serve(platform, { imports: [InVariables] });
    expect(await statuses(3, () => fetch(`${url}/search`))).toEqual([200, 200, 429]);
    const response = await fetch(`${url}/profile`, { headers: { 'x-user': 'jo' } });
    expect([response.status, response.headers.get('ratelimit-policy')]).toEqual([
      200,
      '"1s";q=3;w=1, "1h";q=20;w=3600, "user";q=5;w=60',
    ]);
  });

  it('apply rules from the environment', async () => {
    const { url } = await serve(platform, { imports: [FromEnvironment] });
    const logins = await statuses(6, () => post(`${url}/login`, {}));
    expect(logins).toEqual([201, 201, 201, 201, 201, 429]);
    const allowed: unknown[] = [];
    for (let i = 0; i < 3; i++) allowed.push(await (await post(`${url}/export`, { user: 'jo' })).json());
    expect(allowed).toEqual([{ allowed: true }, { allowed: true }, { allowed: false }]);
  });
});
