import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Logger,
  Post,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FreqLimit, FreqLimitModule } from '../../src/index.js';
import { type Platform, PLATFORMS, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

// Failures that users of other limiters met: who is counted.

const suite = redisSuite();

const inRedis = () => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

@Controller()
class Callers {
  @Get('ip')
  @FreqLimit('1m', 3, '{ip}')
  ip() {
    return 'ok';
  }
  @Get('forwarded')
  @FreqLimit('1m', 1, '{headers.x-forwarded-for}')
  forwarded() {
    return 'ok';
  }
  @Post('phone')
  @FreqLimit('1m', 2, '{body.phone}')
  phone() {
    return 'ok';
  }
}

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

/** An application that trusts the proxy before it. By address: of a mere count of proxies Fastify 5.12 trusts none. */
async function behindOneProxy(platform: Platform, controller: Type) {
  const module = await Test.createTestingModule({
    imports: [FreqLimitModule.forRoot(inRedis())],
    controllers: [controller],
  }).compile();
  const express = new ExpressAdapter();
  express.set('trust proxy', 'loopback');
  const adapter = platform === 'express' ? express : new FastifyAdapter({ trustProxy: 'loopback' });
  const app = module.createNestApplication(adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  return { url: (await app.getUrl()).replace('[::1]', '127.0.0.1'), close: () => app.close() };
}

describe.each(PLATFORMS)('a caller on a unix socket, %s', (platform) => {
  it('is counted, and no key says undefined', async () => {
    const { app, url } = await startApp(platform, { controllers: [Callers], limits: inRedis() });
    const dir = await mkdtemp(join(tmpdir(), 'freq-limit-'));
    const socketPath = join(dir, 'http.sock');
    const listeners = (app.getHttpServer() as Server).listeners('request') as RequestListener[];
    const local = createServer((...args) => {
      for (const listener of listeners) listener(...args);
    });
    local.listen(socketPath);
    await once(local, 'listening');
    const ask = async (): Promise<number> => {
      const asking = request({ socketPath, path: '/ip', agent: false }).end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      return answer.statusCode!;
    };
    expect([await ask(), await ask(), await ask(), await ask()]).toEqual([200, 200, 200, 429]);
    expect(await statuses(4, () => fetch(`${url}/ip`))).toEqual([200, 200, 200, 429]);
    const keys = await keysOf(suite.client, suite.namespace);
    expect(keys).toHaveLength(2);
    expect(keys.join()).not.toMatch(/undefined|null/);
    local.close();
    await once(local, 'close');
    await rm(dir, { recursive: true });
  });
});

describe.each(PLATFORMS)('a forwarded address on %s', (platform) => {
  it('is the caller’s own text where nothing is trusted, and changes nothing', async () => {
    const { url } = await startApp(platform, { controllers: [Callers], limits: inRedis() });
    let n = 0;
    const codes = await statuses(4, () => fetch(`${url}/ip`, from(`198.51.100.${n++}`)));
    expect(codes).toEqual([200, 200, 200, 429]);
  });

  it('is believed as far as one trusted proxy wrote it', async () => {
    const { url, close } = await behindOneProxy(platform, Callers);
    let n = 0;
    const codes = await statuses(4, () => fetch(`${url}/ip`, from(`6.6.6.${n++}, 198.51.100.9`)));
    expect(codes).toEqual([200, 200, 200, 429]);
    expect((await fetch(`${url}/ip`, from('198.51.100.9, 198.51.100.10'))).status).toBe(200);
    expect((await keysOf(suite.client, suite.namespace)).map((key) => key.split(':').at(-1)).sort()).toEqual([
      '198.51.100.10',
      '198.51.100.9',
    ]);
    await close();
  });

  it('may be a key where a rule says so', async () => {
    const { url } = await startApp(platform, { controllers: [Callers], limits: inRedis() });
    expect(await statuses(2, () => fetch(`${url}/forwarded`, from('a')))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/forwarded`, from('b')))).toEqual([200]);
  });
});

describe.each(PLATFORMS)('spellings of one value on %s', (platform) => {
  it('are counters of their own, a number and its text apart', async () => {
    const { url } = await startApp(platform, { controllers: [Callers], limits: inRedis() });
    for (const phone of ['Victim@Example.org', ' victim@example.org ', '\tvictim@example.org\n', 138, '138'])
      expect((await post(`${url}/phone`, { phone })).status).toBe(201);
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(4);
    expect((await post(`${url}/phone`, { phone: 138 })).status).toBe(429);
  });
});

describe.each(PLATFORMS)('requests without the key on %s', (platform) => {
  it('are counted for each address apart', async () => {
    const { url, close } = await behindOneProxy(platform, Callers);
    const lacking = (address: string) => (): Promise<Response> =>
      post(`${url}/phone`, {}, from(address).headers);
    expect(await statuses(3, lacking('198.51.100.9'))).toEqual([201, 201, 429]);
    expect(await statuses(3, lacking('198.51.100.10'))).toEqual([201, 201, 429]);
    await close();
  });

  it('are counted when they upload a form, whose fields no guard can see', async () => {
    const { url } = await startApp(platform, { controllers: [Callers], limits: inRedis() });
    const upload = (phone: string): Promise<Response> => {
      const body = new FormData();
      body.set('phone', phone);
      return fetch(`${url}/phone`, { method: 'POST', body });
    };
    const codes = [];
    for (const phone of ['1', '2', '3']) codes.push((await upload(phone)).status);
    // without a parser of forms Fastify refuses them before any handler
    expect(codes).toEqual(platform === 'express' ? [201, 201, 429] : [415, 415, 415]);
  });
});

describe.each(PLATFORMS)('a user known only behind the global guard on %s', (platform) => {
  it('is counted by address', async () => {
    @Injectable()
    class AuthGuard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const visit = context.switchToHttp().getRequest<{ headers: Record<string, string>; user?: object }>();
        visit.user = { id: visit.headers['user'] };
        return true;
      }
    }
    @Controller()
    class Mine {
      @Get()
      @UseGuards(AuthGuard)
      @FreqLimit('1m', 2, '{user.id}')
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Mine], limits: inRedis() });
    let n = 0;
    expect(await statuses(3, () => fetch(url, { headers: { user: `u${n++}` } }))).toEqual([200, 200, 429]);
  });
});

describe.each(PLATFORMS)('what an answer and a log line tell, %s', (platform) => {
  it('is nobody’s phone number, and no line that a caller wrote', async () => {
    const phone = '13800000000\r\nERROR forged: yes';
    const lines: string[] = [];
    for (const level of ['error', 'warn', 'log'] as const) {
      const note = (...parts: unknown[]): void => void lines.push(...parts.map(String));
      jest.spyOn(Logger.prototype, level).mockImplementation(note);
    }
    @Controller()
    class Leaky {
      @Post()
      @FreqLimit({ window: '1m', limit: 2, key: '{body.phone}' })
      @FreqLimit({
        window: '1m',
        limit: () => 'no limit\nERROR forged: yes' as never,
        name: 'odd',
        skipIf: (context) =>
          context.switchToHttp().getRequest<{ body: { odd?: boolean } }>().body.odd !== true,
      })
      send() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, {
      controllers: [Leaky],
      limits: { ...inRedis(), denyCache: false, onStoreError: 'deny' },
    });
    lines.length = 0;
    const told: string[] = [];
    const send = async (body: object): Promise<number> => {
      const answer = await post(url, body);
      told.push(JSON.stringify([...answer.headers]), await answer.text());
      return answer.status;
    };
    expect([await send({ phone }), await send({ phone }), await send({ phone })]).toEqual([201, 201, 429]);
    expect(await send({ phone, odd: true })).toBe(500);
    const [key] = await keysOf(suite.client, suite.namespace);
    await suite.client.del(key!);
    await suite.client.lpush(key!, 'x');
    expect(await send({ phone })).toBe(503);
    await suite.client.del(key!);
    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(told.join('\n')).not.toMatch(/13800000000|forged/);
    expect(lines.join('\n')).not.toMatch(/13800000000|^ERROR forged/m);
  });
});
