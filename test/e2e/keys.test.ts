import { Body, Controller, Get, Post, type Type } from '@nestjs/common';
import { mkdtemp, rm } from 'node:fs/promises';
import { request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions } from 'nestjs-freq-limit';
import { PLATFORMS, startBehindProxy, serve, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

@Controller()
class Keys {
  @Post('phone')
  @FreqLimit('1m', 2, 'phone:{body.phone}')
  phone(@Body() body: unknown) {
    return { body };
  }
  @Get('phone')
  @FreqLimit('1m', 2, '{body.phone}')
  noBody() {
    return 'ok';
  }
  @Get('query')
  @FreqLimit('1m', 2, '{query.q}')
  query() {
    return 'ok';
  }
  @Get('param/:id')
  @FreqLimit('1m', 1, 'item:{params.id}')
  param() {
    return 'ok';
  }
  @Get('header')
  @FreqLimit('1m', 1, '{headers.X-Api-Key}')
  header() {
    return 'ok';
  }
  @Get('all')
  @FreqLimit('1m', 2, 'everybody')
  all() {
    return 'ok';
  }
  @Post('two')
  @FreqLimit('1m', 1, '{body.a}{body.b}')
  two() {
    return 'ok';
  }
  @Post('deny')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.phone}', onMissingKey: 'deny' })
  deny() {
    return 'ok';
  }
  @Post('skip')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.phone}', onMissingKey: 'skip' })
  skip() {
    return 'ok';
  }
  @Get('ip')
  @FreqLimit('1m', 2, '{ip}')
  ip() {
    return 'ok';
  }
  @Get('function')
  @FreqLimit('1m', 1, async (context) => {
    const { query } = context.switchToHttp().getRequest<{ query: Record<string, string> }>();
    return [query['tenant'], query['user']];
  })
  fn() {
    return 'ok';
  }
}

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

describe.each(PLATFORMS)('keys on %s', (platform) => {
  let url: string;
  const from = (address: string) => ({ 'x-forwarded-for': address });

  beforeEach(async () => {
    ({ url } = await startApp(platform, { controllers: [Keys] }, undefined, trustLoopback));
  });

  it('count each value separately, and a number like its string', async () => {
    const seen = [];
    for (const phone of [13800000000, '13800000000', 13800000000, '13900000000', true, 'true', 'true']) {
      seen.push((await post(`${url}/phone`, { phone })).status);
    }
    expect(seen).toEqual([201, 201, 429, 201, 201, 201, 429]);
  });

  const lacking: [string, RequestInit][] = [
    ['no body', { method: 'POST' }],
    ['an empty object', json({})],
    ['null for a body', json(null)],
    ['a list for a body', json([1])],
    ['an empty text', json({ phone: '' })],
    ['null', json({ phone: null })],
    ['a list', json({ phone: ['1', '2'] })],
    ['an object', json({ phone: { $ne: 1 } })],
    ['a name of every object', json({ toString: 1 })],
    ['plain text', { method: 'POST', body: 'phone=1', headers: { 'content-type': 'text/plain' } }],
  ];

  it.each(lacking)('count a request with %s by its address, on a separate counter', async (label, init) => {
    const send = (): Promise<Response> => fetch(`${url}/phone`, init);
    const codes = await statuses(3, send);
    // Express's parser rejects JSON that is not an object or array before any guard
    const isRejected = platform === 'express' && label === 'null for a body';
    expect(codes).toEqual(isRejected ? [400, 400, 400] : [201, 201, 429]);
    // clients that send a phone are not affected, even if they send that address as the phone
    expect((await post(`${url}/phone`, { phone: '127.0.0.1' })).status).toBe(201);
  });

  it('count all ways to leave a key out on one counter', async () => {
    expect((await post(`${url}/phone`, {})).status).toBe(201);
    expect((await post(`${url}/phone`, { phone: [1] })).status).toBe(201);
    expect((await post(`${url}/phone`, { phone: { a: 1 } })).status).toBe(429);
  });

  it('are missing in a GET without a body and in a repeated query parameter', async () => {
    expect(await statuses(3, () => fetch(`${url}/phone`))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => fetch(`${url}/query?q=1&q=2`))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => fetch(`${url}/query?q=1`))).toEqual([200, 200, 429]);
  });

  it('that are missing answer 400 or skip the rule, by onMissingKey', async () => {
    const denied = await post(`${url}/deny`, {});
    expect([denied.status, ((await denied.json()) as { message: string }).message]).toEqual([
      400,
      'Missing required value: body.phone',
    ]);
    expect(await statuses(2, () => post(`${url}/deny`, { phone: 1 }))).toEqual([201, 429]);
    expect(await statuses(3, () => post(`${url}/skip`, {}))).toEqual([201, 201, 201]);
    expect(await statuses(2, () => post(`${url}/skip`, { phone: 1 }))).toEqual([201, 429]);
  });

  it('are read from parameters and headers', async () => {
    expect(await statuses(2, () => fetch(`${url}/param/7`))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/param/8`))).toEqual([200]);
    expect(await statuses(2, () => fetch(`${url}/header`, { headers: { 'x-api-key': 'k' } }))).toEqual([
      200, 429,
    ]);
    expect(await statuses(1, () => fetch(`${url}/header`, { headers: { 'x-api-key': 'l' } }))).toEqual([200]);
  });

  it('without a placeholder are one counter for all clients', async () => {
    expect(await statuses(3, () => fetch(`${url}/all`))).toEqual([200, 200, 429]);
  });

  it('never collide, whatever characters they have', async () => {
    const odd = [
      'a:b',
      'a',
      'b',
      '{x}',
      '{',
      '%',
      '%7C',
      'a|b',
      '|',
      '~',
      '\u0000',
      'a\r\nb',
      'é',
      'é',
      '💥',
      '\ud800',
      '\udfff',
      '*',
      'x'.repeat(10_000),
    ];
    const pairs = odd.flatMap((a) => [
      [a, 'b'],
      ['a', a],
      [`${a}b`, 'c'],
      [a, 'bc'],
    ]);
    const distinct = [...new Set(pairs.map((pair) => JSON.stringify(pair)))];
    const codes = await Promise.all(
      distinct.map(async (pair) => {
        const [a, b] = JSON.parse(pair) as [string, string];
        return (await post(`${url}/two`, { a, b })).status;
      }),
    );
    expect(codes).toEqual(distinct.map(() => 201));
    expect((await post(`${url}/two`, { a: 'a:b', b: 'b' })).status).toBe(429);
  });

  it('come from functions, sync or async, one value or several', async () => {
    expect(await statuses(2, () => fetch(`${url}/function?tenant=a&user=b`))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/function?tenant=a&user=c`))).toEqual([200]);
    // one of them is missing, so by address
    expect(await statuses(2, () => fetch(`${url}/function?tenant=a`))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/function?user=b`))).toEqual([429]);
  });

  it('use the address that the application trusts, and no other', async () => {
    const send = (address: string): Promise<Response> => fetch(`${url}/ip`, { headers: from(address) });
    const spoofed = [];
    for (let i = 0; i < 3; i++) spoofed.push((await send(`6.6.6.${i}, 198.51.100.9`)).status);
    expect(spoofed).toEqual([200, 200, 429]);
    // Fastify trusts no proxy here
    expect((await send('198.51.100.8')).status).toBe(platform === 'express' ? 200 : 429);
  });
});

describe('an address on Express that trusts its proxy', () => {
  it('is an IPv6 /64, and IPv4 in IPv6 is IPv4', async () => {
    const { url } = await startApp('express', { controllers: [Keys] }, undefined, trustLoopback);
    const of = async (...addresses: string[]): Promise<number[]> => {
      const codes = [];
      for (const address of addresses)
        codes.push((await fetch(`${url}/ip`, { headers: { 'x-forwarded-for': address } })).status);
      return codes;
    };
    expect(await of('2001:db8:1:2::1', '2001:DB8:1:2:ffff::2', '2001:db8:1:2:3:4:5:6')).toEqual([
      200, 200, 429,
    ]);
    expect(await of('2001:db8:1:3::1')).toEqual([200]);
    expect(await of('203.0.113.5', '::ffff:203.0.113.5', '::ffff:cb00:7105')).toEqual([200, 200, 429]);
    expect(await of('203.0.113.6')).toEqual([200]);
  });
});

describe.each(PLATFORMS)('a client without an address on %s', (platform) => {
  it('is counted on a separate counter', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'freq-limit-'));
    const socketPath = join(dir, 'http.sock');
    const { app, url } = await serve(platform, { imports: [FreqLimitModule.forRoot()], controllers: [Keys] });
    const { createServer } = await import('node:http');
    const listeners = (app.getHttpServer() as Server).listeners('request');
    const local = createServer((...args) => listeners.forEach((listener) => void listener(...args)));
    await new Promise<void>((resolve) => local.listen(socketPath, resolve));
    const send = (): Promise<number> =>
      new Promise((resolve, reject) => {
        request({ socketPath, path: '/ip', agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode!);
        })
          .on('error', reject)
          .end();
      });
    expect([await send(), await send(), await send()]).toEqual([200, 200, 429]);
    expect((await fetch(`${url}/ip`)).status).toBe(200);
    await new Promise((resolve) => local.close(resolve));
    await rm(dir, { recursive: true });
  });
});

function json(body: unknown): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function trustLoopback(app: { getHttpAdapter(): { getInstance(): unknown; getType(): string } }): void {
  const adapter = app.getHttpAdapter();
  if (adapter.getType() === 'express')
    (adapter.getInstance() as { set: (...args: string[]) => void }).set('trust proxy', 'loopback');
}

@Controller()
class Phones {
  @Post('phone')
  @FreqLimit('1m', 2, '{body.phone}')
  phone() {
    return 'ok';
  }
}

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

describe.each(PLATFORMS)('spellings of one value on %s', (platform) => {
  it('have separate counters, except for a number and its string', async () => {
    const { url } = await startApp(platform, { controllers: [Phones], limits: inRedis() });
    for (const phone of ['Victim@Example.org', ' victim@example.org ', '\tvictim@example.org\n', 138, '138'])
      expect((await post(`${url}/phone`, { phone })).status).toBe(201);
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(4);
    expect((await post(`${url}/phone`, { phone: 138 })).status).toBe(429);
  });
});

describe.each(PLATFORMS)('requests without the key on %s', (platform) => {
  it('are counted for each address separately', async () => {
    const { url } = await startBehindProxy(platform, Phones, inRedis());
    const lacking = (address: string) => (): Promise<Response> =>
      post(`${url}/phone`, {}, from(address).headers);
    expect(await statuses(3, lacking('198.51.100.9'))).toEqual([201, 201, 429]);
    expect(await statuses(3, lacking('198.51.100.10'))).toEqual([201, 201, 429]);
  });

  it('are counted when they upload a form, whose fields guards cannot see', async () => {
    const { url } = await startApp(platform, { controllers: [Phones], limits: inRedis() });
    const upload = (phone: string): Promise<Response> => {
      const body = new FormData();
      body.set('phone', phone);
      return fetch(`${url}/phone`, { method: 'POST', body });
    };
    const codes = [];
    for (const phone of ['1', '2', '3']) codes.push((await upload(phone)).status);
    // without a parser for forms Fastify rejects them before any handler
    expect(codes).toEqual(platform === 'express' ? [201, 201, 429] : [415, 415, 415]);
  });
});

describe.each(PLATFORMS)('values of a key on %s', (platform) => {
  it('count by address if they are an object, a symbol or a promise of undefined', async () => {
    const byKey = (value: unknown): Type => {
      class Odd {
        get() {
          return 'ok';
        }
      }
      const descriptor = Object.getOwnPropertyDescriptor(Odd.prototype, 'get')!;
      for (const decorate of [Get(), FreqLimit('1m', 1, () => Promise.resolve(value as string))])
        decorate(Odd.prototype, 'get', descriptor);
      Controller(`at${typeof value}`)(Odd);
      return Odd;
    };
    const controllers = [{ id: 1 }, Symbol('x'), undefined].map(byKey);
    const { url } = await startApp(platform, {
      controllers,
      limits: { redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 },
    });
    for (const path of ['atobject', 'atsymbol', 'atundefined'])
      expect(await statuses(2, () => fetch(`${url}/${path}`))).toEqual([200, 429]);
    for (const key of await keysOf(suite.client, suite.namespace)) expect(key).toMatch(/:!ip\|127\.0\.0\.1$/);
  });
});
