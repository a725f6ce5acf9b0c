import { Controller, Get } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { adapterBehindGateway, trustGateway } from '../../examples/http/proxies.js';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions } from 'nestjs-freq-limit';
import { captureLog } from '../support/log.js';

@Controller()
class Limited {
  @Get()
  @FreqLimit('1m', 1, '{ip}')
  get() {
    return 'ok';
  }
}

/** A request of a gateway: its source address, and the forwarded header it came with. */
interface Event {
  readonly sourceIp: string;
  readonly written?: string;
}

const closing: (() => Promise<unknown>)[] = [];
const { warnings } = captureLog();

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

type Platform = 'express' | 'fastify' | 'express, with its address set';

/** Like serverless adapters: passes a request of Node's class, on a fake socket, to the application. */
async function start(platform: Platform, limits: FreqLimitOptions, proxies = '') {
  const module = await Test.createTestingModule({
    imports: [FreqLimitModule.forRoot(limits)],
    controllers: [Limited],
  }).compile();
  const isFastify = platform === 'fastify';
  const gateway = proxies === 'gateway';
  const fastify = gateway
    ? adapterBehindGateway()
    : new FastifyAdapter(proxies ? { trustProxy: proxies } : {});
  const adapter = isFastify ? fastify : new ExpressAdapter();
  const app = module.createNestApplication(adapter, { logger: false });
  closing.push(() => app.close());
  if (!isFastify && gateway) trustGateway(app as NestExpressApplication);
  await app.init();
  if (isFastify) await fastify.getInstance().ready();
  return async (event: Event): Promise<number> => {
    const request = requestOf(event);
    if (platform === 'express, with its address set') Object.assign(request, { ip: event.sourceIp });
    const response = new ServerResponse(request);
    response.assignSocket(new Nowhere() as unknown as Socket);
    (app.getHttpServer() as Server).emit('request', request, response);
    await once(response, 'finish');
    return response.statusCode;
  };
}

function requestOf({ sourceIp, written }: Event): IncomingMessage {
  const forwarded = written === undefined ? sourceIp : `${written}, ${sourceIp}`;
  const socket = Object.assign(new Nowhere(), { encrypted: true, remoteAddress: sourceIp });
  const request = new IncomingMessage(socket as unknown as Socket);
  Object.assign(request, { method: 'GET', url: '/', headers: { 'x-forwarded-for': forwarded } });
  request.push(null);
  return request;
}

class Nowhere extends Writable {
  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done();
  }
}

const PLATFORMS: readonly Platform[] = ['express', 'express, with its address set', 'fastify'];

describe.each(PLATFORMS)('an adapter of a serverless platform for %s', (platform) => {
  const [one, other] = [{ sourceIp: '203.0.113.1' }, { sourceIp: '203.0.113.2' }];
  const limits = { skipAddresses: ['203.0.113.2'] };

  it('has separate counters and skipped addresses of clients if the gateway is trusted', async () => {
    const handle = await start(platform, limits, 'gateway');
    expect([await handle(one), await handle(one)]).toEqual([200, 429]);
    expect([await handle(other), await handle(other)]).toEqual([200, 200]);
    expect(warnings).toEqual([]);
  });

  it('ignores addresses that the client wrote', async () => {
    const handle = await start(platform, limits, 'gateway');
    const event = { ...one, written: '203.0.113.2' };
    expect([await handle(event), await handle(event)]).toEqual([200, 429]);
  });

  it('has separate counters of clients without a trusted gateway, with one warning', async () => {
    const handle = await start(platform, limits);
    expect([await handle(one), await handle(one)]).toEqual([200, 429]);
    expect([await handle(other), await handle(other)]).toEqual([200, 429]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /serverless platform this may already be the client's address: trust one hop there/,
      ),
    ]);
  });
});

it('the address of a proxy that Fastify does not trust is never skipped', async () => {
  const handle = await start('fastify', { skipAddresses: ['203.0.113.1'] }, '10.0.0.1');
  const event = { sourceIp: '203.0.113.1' };
  expect([await handle(event), await handle(event)]).toEqual([200, 429]);
});
