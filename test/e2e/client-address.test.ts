import { Controller, Get, type INestApplication } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import {
  createServer,
  get,
  type IncomingMessage,
  request,
  type RequestListener,
  type Server,
} from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adapterBehindProxies, trustProxies } from '../../examples/http/proxies.js';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions } from 'nestjs-freq-limit';
import {
  type Platform,
  PLATFORMS,
  startBehindProxy,
  startApp,
  statuses,
  type TestApp,
} from '../support/app.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog, logLine } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

const { lines } = captureLog();

@Controller()
class ByAddress {
  @Get('ip')
  @FreqLimit('1m', 3, '{ip}')
  ip() {
    return 'ok';
  }
}

@Controller()
class ByHeader {
  @Get('forwarded')
  @FreqLimit('1m', 1, '{headers.x-forwarded-for}')
  forwarded() {
    return 'ok';
  }
}

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

async function startBehindExampleProxies(platform: Platform): Promise<TestApp> {
  if (platform === 'fastify') return startBehindProxy(platform, ByAddress, inRedis(), adapterBehindProxies());
  const served = await startBehindProxy(platform, ByAddress, inRedis(), new ExpressAdapter());
  trustProxies(served.app as NestExpressApplication);
  return served;
}

describe.each(PLATFORMS)('a forwarded address on %s', (platform) => {
  it('is ignored if no proxy is trusted, with one warning', async () => {
    const { url } = await startApp(platform, { controllers: [ByAddress], limits: inRedis() });
    let n = 0;
    const send = (name: string) => () => fetch(`${url}/ip`, { headers: { [name]: `198.51.100.${++n}` } });
    expect(await statuses(4, send('x-forwarded-for'))).toEqual([200, 200, 200, 429]);
    expect(await statuses(2, send('forwarded'))).toEqual([429, 429]);
    expect(lines).toEqual([
      logLine(
        'FREQ_LIMIT_UNTRUSTED_PROXY',
        'A request with a header such as X-Forwarded-For came from an address that the application does not trust',
      ),
    ]);
  });

  it.each<[string, (platform: Platform) => Promise<TestApp>]>([
    ['the proxies of the example', startBehindExampleProxies],
    ['a proxy on this machine', (platform) => startBehindProxy(platform, ByAddress, inRedis())],
  ])('is the last one before %s, whatever the client wrote', async (_, start) => {
    const { url } = await start(platform);
    let n = 0;
    const send = (address: string) => () => fetch(`${url}/ip`, from(`203.0.113.${++n}, ${address}`));
    expect(await statuses(4, send('198.51.100.9'))).toEqual([200, 200, 200, 429]);
    expect(await statuses(1, send('198.51.100.10'))).toEqual([200]);
    expect((await fetch(`${url}/ip`, from('198.51.100.9, 198.51.100.10'))).status).toBe(200);
    expect((await keysOf(suite.client, suite.namespace)).map((key) => key.split(':').at(-1)).sort()).toEqual([
      '198.51.100.10',
      '198.51.100.9',
    ]);
    expect(lines).toEqual([]);
  });

  it('can be the key of a rule', async () => {
    const { url } = await startApp(platform, { controllers: [ByHeader], limits: inRedis() });
    expect(await statuses(2, () => fetch(`${url}/forwarded`, from('a')))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/forwarded`, from('b')))).toEqual([200]);
  });
});

describe.each(PLATFORMS)('a client on a unix socket, %s', (platform) => {
  it('is counted under a key without "undefined"', async () => {
    const { app, url } = await startApp(platform, { controllers: [ByAddress], limits: inRedis() });
    const dir = await mkdtemp(join(tmpdir(), 'freq-limit-'));
    const socketPath = join(dir, 'http.sock');
    const listeners = (app.getHttpServer() as Server).listeners('request') as RequestListener[];
    const local = createServer((...args) => {
      for (const listener of listeners) listener(...args);
    });
    local.listen(socketPath);
    await once(local, 'listening');
    const send = async (): Promise<number> => {
      const asking = request({ socketPath, path: '/ip', agent: false }).end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      return answer.statusCode!;
    };
    expect([await send(), await send(), await send(), await send()]).toEqual([200, 200, 200, 429]);
    expect(await statuses(4, () => fetch(`${url}/ip`))).toEqual([200, 200, 200, 429]);
    const keys = await keysOf(suite.client, suite.namespace);
    expect(keys).toHaveLength(2);
    expect(keys.join()).not.toMatch(/undefined|null/);
    local.close();
    await once(local, 'close');
    await rm(dir, { recursive: true });
  });
});

describe('a proxy on a unix socket', () => {
  @Controller()
  class Two {
    @Get()
    @FreqLimit('1m', 2, '{ip}')
    get() {
      return 'ok';
    }
  }

  const nearest = (_address: string, hop: number): boolean => hop === 0;
  const noAddress = [logLine('FREQ_LIMIT_NO_ADDRESS', 'A request has no IP address')];

  function adapterOf(platform: Platform, isTrusted: boolean) {
    if (platform === 'fastify') return new FastifyAdapter(isTrusted ? { trustProxy: nearest } : {});
    const adapter = new ExpressAdapter();
    if (isTrusted) adapter.set('trust proxy', nearest);
    return adapter;
  }

  // Nest 11's adapter for Fastify listens on ports only
  async function listenAt(app: INestApplication, platform: Platform, path: string): Promise<void> {
    if (platform === 'express') {
      await app.listen(path);
      return;
    }
    await app.init();
    await (app as NestFastifyApplication).getHttpAdapter().getInstance().listen({ path });
  }

  it.each(PLATFORMS.flatMap((platform) => [false, true].map((isTrusted) => [platform, isTrusted] as const)))(
    'on %s, trusted %s, has its clients counted separately or is warned about once',
    async (platform, isTrusted) => {
      const module = await Test.createTestingModule({
        imports: [FreqLimitModule.forRoot(inRedis())],
        controllers: [Two],
      }).compile();
      const app = module.createNestApplication(adapterOf(platform, isTrusted), { logger: false });
      const folder = await mkdtemp(join(tmpdir(), 'freq-limit-'));
      const socketPath = join(folder, 'http.sock');
      await listenAt(app, platform, socketPath);
      const send = async (client: string): Promise<number | undefined> => {
        const headers = isTrusted ? { 'x-forwarded-for': `6.6.6.6, ${client}` } : {};
        const [answer] = (await once(get({ socketPath, agent: false, headers }), 'response')) as [
          IncomingMessage,
        ];
        answer.resume();
        await once(answer, 'end');
        return answer.statusCode;
      };
      const seen = [];
      for (const client of ['198.51.100.9', '198.51.100.9', '198.51.100.9', '198.51.100.10'])
        seen.push(await send(client));
      expect(seen).toEqual(isTrusted ? [200, 200, 429, 200] : [200, 200, 429, 429]);
      expect(
        (await keysOf(suite.client, suite.namespace)).map((key) => key.split(':').at(-1)).sort(),
      ).toEqual(isTrusted ? ['198.51.100.10', '198.51.100.9'] : ['!no-address']);
      expect(lines).toEqual(isTrusted ? [] : noAddress);
      await app.close();
      await rm(folder, { recursive: true });
    },
  );
});
