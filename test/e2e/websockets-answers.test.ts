import { type ArgumentsHost, Catch, UseFilters } from '@nestjs/common';
import {
  BaseWsExceptionFilter,
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  WsException,
} from '@nestjs/websockets';
import { of, throwError } from 'rxjs';
import { io } from 'socket.io-client';
import {
  FreqLimit,
  type FreqLimitOptions,
  FreqLimitVerdict,
  isFreqLimitExceeded,
  type Verdict,
} from 'nestjs-freq-limit';
import { until } from '../support/cluster.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';
import { closeClients, connect, LIBRARIES, startGateways, denied, reply } from '../support/sockets.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

afterEach(closeClients);

const { warnings, errors } = captureLog();

class Brewing extends WsException {}

@WebSocketGateway()
class Odds {
  @SubscribeMessage('acknowledged')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.room}', countWhen: 'success' })
  acknowledged(@FreqLimitVerdict() { tightest }: Verdict) {
    return { left: tightest?.remaining };
  }
  @SubscribeMessage('binary')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.room}' })
  binary(@MessageBody() body: Buffer, @FreqLimitVerdict() { tightest }: Verdict) {
    return reply([body.length, tightest?.remaining]);
  }
  @SubscribeMessage('shadow')
  @FreqLimit({ window: '1m', limit: 1, shadow: true, name: 'trial' })
  shadow(@FreqLimitVerdict() { results }: Verdict) {
    return reply(results.map(({ allowed, shadow }) => [allowed, shadow]));
  }
  @SubscribeMessage('stream')
  @FreqLimit({ window: '1m', limit: 1, countWhen: 'failure' })
  stream(@MessageBody() { fails }: { fails: boolean }) {
    return fails ? throwError(() => new WsException('broken')) : of(reply(1), reply(2));
  }
  @SubscribeMessage('teapot')
  @FreqLimit({ window: '1m', limit: 0, statusCode: 418, message: 'short and stout' })
  teapot() {
    return reply('tea');
  }
  @SubscribeMessage('fails')
  @FreqLimit({
    window: '1m',
    limit: 1,
    key: () => {
      throw new Error('no key');
    },
  })
  fails() {
    return reply('never');
  }
}

describe.each(LIBRARIES)('a message handler of %s', (library) => {
  const start = (limits: FreqLimitOptions = {}) => startGateways('express', library, [Odds], limits);

  it('answers all messages of a shadow rule, and logs the denials', async () => {
    const { url } = await start();
    const client = await connect(library, url);
    expect(await client.requestTimes(2, 'shadow')).toEqual([reply([[true, true]]), reply([[false, true]])]);
    expect(warnings).toEqual([
      'FREQ_LIMIT_SHADOW_DENIED: Odds.shadow, rule "trial": this shadow rule would have denied a request',
    ]);
  });

  it('counts only failures, also if it returns a stream', async () => {
    const { url } = await start();
    const client = await connect(library, url);
    expect([await client.request('stream', { fails: false }), await client.next()]).toEqual([
      reply(1),
      reply(2),
    ]);
    expect((await client.request('stream', { fails: true })).event).toBe('exception');
    expect(await client.request('stream', { fails: false })).toEqual(denied());
  });

  it('denies with the status and the message of its rule', async () => {
    const { url } = await start();
    const { data } = await (await connect(library, url)).request('teapot');
    expect(data).toEqual({
      status: 'error',
      code: 'I_M_A_TEAPOT',
      message: 'short and stout',
      retryAfter: 60,
    });
  });

  it('denies with the exception of the application', async () => {
    const { url } = await start({ exceptionFactory: () => new Brewing({ mine: true }) });
    expect(await (await connect(library, url)).request('teapot')).toEqual({
      event: 'exception',
      data: { mine: true },
    });
  });

  it('throws a denial that filters recognize, with its verdict', async () => {
    const seen: unknown[] = [];
    @Catch(WsException)
    class Telling extends BaseWsExceptionFilter {
      override catch(exception: WsException, host: ArgumentsHost): void {
        seen.push(isFreqLimitExceeded(exception) && exception.verdict.tightest?.limit);
        super.catch(exception, host);
      }
    }
    @WebSocketGateway()
    @UseFilters(Telling)
    class Filtered {
      @SubscribeMessage('closed')
      @FreqLimit('1m', 0)
      closed() {
        return reply('never');
      }
    }
    const { url } = await startGateways('express', library, [Filtered]);
    (await connect(library, url)).send('closed');
    await until(() => seen.length > 0);
    expect(seen).toEqual([0]);
  });

  it('is not called if a function of a rule fails: the client gets an error without details, and the log a line', async () => {
    const { url } = await start();
    const client = await connect(library, url);
    expect(await client.request('fails')).toEqual({
      event: 'exception',
      data: { status: 'error', code: 'INTERNAL_SERVER_ERROR', message: 'Internal Server Error' },
    });
    expect(errors).toEqual([
      'FREQ_LIMIT_RULE_FAILED: The request got 500: @FreqLimit on Odds.fails, rule "1m": the key function failed: no key',
    ]);
    expect(client.isOpen()).toBe(true);
  });

  it('sets no headers', async () => {
    const { url } = await startGateways('express', library, [Odds], { headers: 'both' });
    const client = await connect(library, url);
    expect(await client.request('teapot')).toEqual({ event: 'exception', data: expect.anything() });
    expect(errors).toEqual([]);
  });
});

describe('socket.io', () => {
  it('acknowledges allowed messages, and sends an exception without an acknowledgement for denied ones', async () => {
    const { url } = await startGateways('express', 'socket.io', [Odds]);
    const socket = io(url, { transports: ['websocket'], forceNew: true });
    const exceptions: unknown[] = [];
    socket.on('exception', (received: unknown) => exceptions.push(received));
    expect(await socket.emitWithAck('acknowledged', { room: 1 })).toEqual({ left: 0 });
    const answered = socket.timeout(100).emitWithAck('acknowledged', { room: 1 });
    await expect(answered).rejects.toThrow('operation has timed out');
    expect(exceptions).toEqual([denied().data]);
    expect(await socket.emitWithAck('acknowledged', 'plain')).toEqual({ left: 0 });
    socket.disconnect();
  });

  it('takes bytes, which have no key', async () => {
    const { url } = await startGateways('express', 'socket.io', [Odds], inRedis());
    const client = await connect('socket.io', url);
    expect(await client.requestTimes(2, 'binary', Buffer.from('room'))).toEqual([reply([4, 0]), denied()]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([
      expect.stringMatching(/:!ip:127\.0\.0\.1$|127\.0\.0\.1$/),
    ]);
  });
});
