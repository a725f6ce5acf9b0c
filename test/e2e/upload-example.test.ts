import type { INestApplication } from '@nestjs/common';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { UploadsController, UploadsModule } from '../../examples/costs/uploads.controller.js';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { type Platform, serve } from '../support/app.js';
import { until } from '../support/cluster.js';
import { startWithUsers, usedOf } from '../support/example-app.js';
import { remaining } from '../support/http.js';
import { EVERYWHERE } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();
const log = captureLog();

const OCTETS = 'application/octet-stream';

/** Fastify reads only bodies of types that it knows. */
interface FastifyInstance {
  addContentTypeParser(
    type: string,
    parse: (request: unknown, payload: unknown, done: (error: null, body: unknown) => void) => void,
  ): void;
}

function takeOctets(platform: Platform): (app: INestApplication) => void {
  return (app) => {
    if (platform !== 'fastify') return;
    const fastify = app.getHttpAdapter().getInstance() as FastifyInstance;
    fastify.addContentTypeParser(OCTETS, (_request, payload, done) => done(null, payload));
  };
}

describe.each(EVERYWHERE)('uploads on %s, counted in %s', (platform, kind) => {
  const start = async () => {
    const parts = { controllers: [UploadsController] };
    const { app, url } = await startWithUsers(platform, kind, suite, parts, takeOctets(platform));
    const used = () =>
      usedOf(app, { controller: UploadsController, handler: 'upload', rule: 'bytes', key: 'ann' });
    return { url, used };
  };
  const headers = { authorization: 'ann', 'content-type': OCTETS };
  /** An upload that the test writes. Without a length, it is sent in chunks. */
  const begin = (url: string, length?: number) => {
    const announced = length === undefined ? {} : { 'content-length': length };
    const upload = httpRequest(`${url}/uploads`, { method: 'PUT', headers: { ...headers, ...announced } });
    upload.on('error', () => undefined);
    upload.flushHeaders();
    return upload;
  };
  const answerTo = async (upload: ReturnType<typeof begin>) => {
    const [response] = (await once(upload, 'response')) as [IncomingMessage];
    return { status: response.statusCode, body: JSON.parse(await text(response)) as unknown };
  };

  it('charges the announced bytes', async () => {
    const { url, used } = await start();
    const body = Buffer.alloc(1_000);
    const response = await fetch(`${url}/uploads`, { method: 'PUT', headers, body });
    expect([response.status, await response.json()]).toMatchObject([200, { bytes: 1_000 }]);
    expect(remaining(response)).toEqual({ bytes: 9_999_000 });
    expect(await used()).toBe(1_000);
  });

  it('charges the maximum if no length is announced, and then the bytes that came', async () => {
    const { url, used } = await start();
    const upload = begin(url);
    const answer = answerTo(upload);
    upload.write(Buffer.alloc(1_000));
    await until(async () => (await used()) === 1_000_000);
    upload.end(Buffer.alloc(500));
    expect(await answer).toMatchObject({ status: 200, body: { bytes: 1_500 } });
    expect(await used()).toBe(1_500);
  });

  it('ends an upload that is longer than the maximum, and charges what was read', async () => {
    const { url, used } = await start();
    const upload = begin(url);
    const answer = answerTo(upload);
    upload.end(Buffer.alloc(1_000_001));
    expect(await answer).toMatchObject({ status: 413 });
    expect(await used()).toBe(1_000_001);
  });

  it('charges the bytes that came if the client announces more and hangs up', async () => {
    const { url, used } = await start();
    const upload = begin(url, 5_000);
    upload.write(Buffer.alloc(1_000));
    await until(async () => (await used()) === 5_000);
    upload.destroy();
    await until(async () => (await used()) !== 5_000);
    expect(await used()).toBe(1_000);
  });

  it('reads no more than the announced bytes', async () => {
    const { url, used } = await start();
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname);
    const upload = `PUT /uploads HTTP/1.1\r\nHost: a\r\nAuthorization: ann\r\nContent-Type: ${OCTETS}\r\n`;
    const next = 'GET /unknown HTTP/1.1\r\nHost: a\r\nAuthorization: ann\r\nConnection: close\r\n\r\n';
    socket.write(`${upload}Content-Length: 5\r\n\r\n12345${next}`);
    const responses = await text(socket);
    expect(responses).toContain('"bytes":5,');
    expect(responses).toContain('HTTP/1.1 404');
    expect(await used()).toBe(5);
  });

  it('denies an upload that is announced to be longer than the maximum', async () => {
    const { url, used } = await start();
    for (const length of [1_000_001, 20_000_000, 2 ** 60]) {
      const upload = begin(url, length);
      expect(await answerTo(upload)).toMatchObject({ status: 429 });
      upload.destroy();
    }
    expect(await used()).toBe(0);
  });
});

it('the example of uploads starts', async () => {
  const { url } = await serve('express', { imports: [UploadsModule] }, (builder) =>
    useMemoryStore(builder, new TestClock()),
  );
  const upload = { method: 'PUT', headers: { authorization: 'ann' }, body: 'abc' };
  expect(await (await fetch(`${url}/uploads`, upload)).json()).toEqual({
    bytes: 3,
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  });
  expect(log.lines).toEqual([]);
});
