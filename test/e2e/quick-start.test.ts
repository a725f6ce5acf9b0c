import { readFileSync } from 'node:fs';
import { SmsController } from '../../examples/options/sms.controller.js';
import { AppModule } from '../../examples/quick-start/app.module.js';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { closeApps, PLATFORMS, serve, startApp, statuses } from '../support/app.js';
import { limitHeaders, post } from '../support/http.js';

afterEach(closeApps);

/** The response that the README shows. */
function responseInReadme() {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [, text = ''] = /^```http\n(.*?)^```$/ms.exec(readme) ?? [];
  const [head = '', body = ''] = text.split('\n\n');
  const [status = '', ...headers] = head.split('\n');
  return {
    status,
    headers: Object.fromEntries(
      headers.map((line) => [line.split(': ', 1)[0]!.toLowerCase(), line.slice(line.indexOf(': ') + 2)]),
    ),
    body: JSON.parse(body) as unknown,
  };
}

describe.each(PLATFORMS)('the first example of the README on %s', (platform) => {
  const start = () =>
    serve(platform, { imports: [AppModule] }, (builder) => useMemoryStore(builder, new TestClock()));
  const guess = { user: 'ann', password: 'guess' };

  it('denies the sixth attempt after five wrong passwords, as the README shows', async () => {
    const { url } = await start();
    expect(await statuses(5, () => post(`${url}/login`, guess))).toEqual(Array(5).fill(401));
    const denied = await post(`${url}/login`, { ...guess, password: 'open sesame' });
    expect({
      status: `HTTP/1.1 ${denied.status} ${denied.statusText}`,
      headers: limitHeaders(denied),
      body: await denied.json(),
    }).toEqual(responseInReadme());
  });

  it('counts attempts without a body by address', async () => {
    const { url } = await start();
    const attempt = () => fetch(`${url}/login`, { method: 'POST' });
    expect(await statuses(6, attempt)).toEqual([...Array<number>(5).fill(401), 429]);
  });

  it('does not count correct passwords', async () => {
    const { url } = await start();
    const right = { user: 'ann', password: 'open sesame' };
    expect(await statuses(10, () => post(`${url}/login`, right))).toEqual(Array(10).fill(201));
  });
});

describe.each(PLATFORMS)('three limits on one handler on %s', (platform) => {
  it('allow one code a minute for a phone', async () => {
    const { url } = await startApp(platform, { controllers: [SmsController] });
    const send = (phone: string) => post(`${url}/sms/code`, { phone });
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
      message: 'Too many requests. Try again in 1 minute.',
      retryAfter: 60,
    });
  });
});
