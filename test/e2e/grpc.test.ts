import type { sendUnaryData, ServerDuplexStream, ServerReadableStream } from '@grpc/grpc-js';
import { Controller } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall, GrpcStreamMethod, RpcException } from '@nestjs/microservices';
import { last, map, type Observable, of } from 'rxjs';
import { FreqLimit, type FreqLimitOptions, FreqLimitVerdict, type Verdict } from 'nestjs-freq-limit';
import { type GrpcClient, grpcClient, grpcTransport } from '../support/grpc.js';
import { captureLog } from '../support/log.js';
import { closeMicroservices, startMicroservice } from '../support/microservices.js';
import { keysOf, redisUrl } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();
captureLog();
const inRedis = (): FreqLimitOptions => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

interface Text {
  readonly text: string;
}

const called: string[] = [];

@Controller()
class Limits {
  @GrpcMethod('Limits', 'Unary')
  @FreqLimit('1m', 1, '{body.text}')
  unary({ text }: Text) {
    return { text };
  }
  @GrpcMethod('Limits', 'Down')
  @FreqLimit('1m', 1, '{body.text}')
  down({ text }: Text) {
    return of({ text }, { text });
  }
  @GrpcStreamMethod('Limits', 'Up')
  @FreqLimit('1m', 1, 'all')
  up(texts: Observable<Text>) {
    return texts.pipe(last());
  }
  @GrpcStreamMethod('Limits', 'Both')
  @FreqLimit('1m', 1, 'all')
  both(texts: Observable<Text>) {
    return texts.pipe(map(({ text }) => ({ text })));
  }
  @GrpcStreamCall('Limits', 'RawUp')
  @FreqLimit('1m', 1, 'all')
  rawUp(call: ServerReadableStream<Text, Text>, callback: sendUnaryData<Text>) {
    called.push('RawUp');
    call.resume().on('end', () => {
      callback(null, { text: 'a' });
    });
  }
  @GrpcStreamCall('Limits', 'RawBoth')
  @FreqLimit('1m', 1, 'all')
  rawBoth(call: ServerDuplexStream<Text, Text>) {
    called.push('RawBoth');
    call.on('data', (text) => call.write(text)).on('end', () => call.end());
  }
  @GrpcMethod('Limits', 'Needs')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.other}', onMissingKey: 'deny' })
  needs() {
    return { text: 'a' };
  }
  @GrpcMethod('Limits', 'Fails')
  @FreqLimit({ window: '1m', limit: 1, key: () => Promise.reject(new Error('secret')) })
  fails() {
    return { text: 'a' };
  }
  @GrpcMethod('Limits', 'Closed')
  @FreqLimit({ window: '1m', limit: 0, key: 'all', statusCode: 503, message: 'Closed' })
  closed() {
    return { text: 'a' };
  }
  @GrpcMethod('Limits', 'Free')
  free() {
    return { text: 'a' };
  }
}

@Controller()
class Verdicts {
  @GrpcMethod('Limits', 'Unary')
  @FreqLimit('1m', 3, 'all')
  unary(@FreqLimitVerdict() { tightest }: Verdict) {
    return { text: String(tightest?.remaining) };
  }
}

let client: GrpcClient | undefined;

async function start(limits: FreqLimitOptions = {}, controller: typeof Limits | typeof Verdicts = Limits) {
  const transport = await grpcTransport();
  await startMicroservice(transport, { limits, controllers: [controller] });
  client = grpcClient(transport);
  return client;
}

afterEach(async () => {
  client?.close();
  client = undefined;
  await closeMicroservices();
});

const passed = { code: 0, details: 'OK', retryAfter: undefined };
const denied = {
  texts: [],
  code: 8,
  details: 'Too many requests. Try again in 1 minute.',
  retryAfter: '60',
};

describe('a denied gRPC call', () => {
  it.each([
    ['Unary', ['a']],
    ['Down', ['a', 'a']],
    ['Up', ['a']],
    ['Both', ['a']],
    ['RawUp', ['a']],
    ['RawBoth', ['a']],
  ])('ends with RESOURCE_EXHAUSTED and retry-after in its trailers: %s', async (method, texts) => {
    const { call } = await start();
    called.length = 0;
    expect(await call(method)).toEqual({ ...passed, texts });
    expect(await call(method)).toEqual(denied);
    expect(await call(method)).toEqual(denied);
    expect(called).toEqual(method.startsWith('Raw') ? [method] : []);
  });

  it('is counted by a field of the message', async () => {
    const { call } = await start(inRedis());
    expect((await call('Unary', 'a')).code).toBe(0);
    expect((await call('Unary', 'b')).code).toBe(0);
    expect((await call('Unary', 'a')).code).toBe(8);
  });

  it('ends with the gRPC status that matches the rule’s statusCode', async () => {
    const { call } = await start();
    expect(await call('Closed')).toMatchObject({ code: 14, details: 'Closed' });
  });

  it.each(['Unary', 'RawUp', 'RawBoth'])('ends with the exception of the application: %s', async (method) => {
    const exceptionFactory = () => new RpcException({ code: 7, message: 'mine' });
    const { call } = await start({ exceptionFactory });
    await call(method);
    expect(await call(method)).toMatchObject({ code: 7, details: 'mine' });
  });

  it.each(['RawUp', 'RawBoth'])('ends, whatever exception the application throws: %s', async (method) => {
    const { call } = await start({ exceptionFactory: () => new RpcException('mine') });
    await call(method);
    expect(await call(method)).toMatchObject({ code: 2, details: 'mine' });
  });
});

describe('a gRPC call that cannot be checked', () => {
  it('ends with INVALID_ARGUMENT if it lacks its key', async () => {
    const { call } = await start();
    expect(await call('Needs')).toEqual({
      texts: [],
      code: 3,
      details: 'Missing required value: body.other',
      retryAfter: undefined,
    });
  });

  it.each(['Unary', 'Down', 'Up', 'Both', 'RawUp', 'RawBoth'])(
    'ends with UNAVAILABLE if the store is unreachable and onStoreError is deny: %s',
    async (method) => {
      const { call } = await start({ redis: 'redis://127.0.0.1:1', onStoreError: 'deny' });
      expect(await call(method)).toMatchObject({
        code: 14,
        details: 'The request limit cannot be checked right now. Try again later.',
      });
    },
  );

  it('ends with INTERNAL and no details if a function of a rule fails', async () => {
    const { call } = await start();
    expect(await call('Fails')).toMatchObject({ code: 13, details: 'Internal Server Error' });
  });
});

describe('a gRPC call', () => {
  it('has the address of its client, also for rules of the module', async () => {
    const rules = [{ window: '1m', limit: 2, key: '{ip}', name: 'module' }] as const;
    const { call } = await start({ ...inRedis(), rules });
    const codes = [];
    for (let i = 0; i < 3; i++) codes.push((await call('Free')).code);
    expect(codes).toEqual([0, 0, 8]);
    const [key] = await keysOf(suite.client, suite.namespace);
    expect(key).toMatch(/:127\.0\.0\.1$/);
  });

  it('gives its handler the verdict', async () => {
    const { call } = await start({}, Verdicts);
    expect((await call('Unary')).texts).toEqual(['2']);
  });
});
