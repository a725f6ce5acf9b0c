import { readFileSync } from 'node:fs';
import { AppModule } from '../../examples/sms/app.module.js';
import { closeApps, PLATFORMS, serve, statuses } from '../support/app.js';
import { post, remaining } from '../support/http.js';

afterEach(closeApps);

const code = (phone?: string) => ({ path: '/sms/code', body: phone === undefined ? {} : { phone } });
const QUOTA = '/sms/quota?phone=13800000000';
const GUESS = { path: '/login', body: { user: 'ann', password: 'guess' } };

it('the demo prints the curl commands that are tested here', () => {
  const main = readFileSync(new URL('../../examples/sms/main.ts', import.meta.url), 'utf8');
  const commands = main.matchAll(/^ *curl (?:-i \$\{json\} -d '([^']+)' )?'?\$\{url\}([^\s']+)'?$/gm);
  const printed = [...commands].map(([, body, path]) => ({
    path,
    body: body && (JSON.parse(body) as object),
  }));
  const tested = [code('13800000000'), code('13900000000'), code(), { path: QUOTA }, GUESS];
  expect(printed).toEqual(tested);
  expect(main.match(/curl/g)).toHaveLength(tested.length);
});

describe.each(PLATFORMS)('the demo on %s', (platform) => {
  it('answers as its output says', async () => {
    const { url } = await serve(platform, { imports: [AppModule] });
    const send = ({ path, body }: { path: string; body: object }) => post(url + path, body);
    const first = await send(code('13800000000'));
    expect(first.status).toBe(202);
    expect(first.headers.get('ratelimit')).toBe(
      '"address";a=29;w=60, "minute";a=0;w=60, "daily";a=9;w=86400',
    );
    const again = await send(code('13800000000'));
    expect([again.status, remaining(again)['daily']]).toEqual([429, 9]);
    expect((await send(code('13900000000'))).status).toBe(202);
    expect(await statuses(2, () => send(code()))).toEqual([202, 429]);
    const quota = await (await fetch(url + QUOTA)).json();
    expect(quota).toMatchObject([
      { name: 'minute', remaining: 0 },
      { name: 'daily', remaining: 9 },
    ]);
    expect(await statuses(4, () => send(GUESS))).toEqual([401, 401, 401, 429]);
  });
});
