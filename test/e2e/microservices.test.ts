import { type CanActivate, Controller, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { jest } from '@jest/globals';
import { EventPattern, MessagePattern, Payload, RpcException, type TcpContext } from '@nestjs/microservices';
import type { Socket } from 'node:net';
import { CodesController } from '../../examples/microservices/codes.controller.js';
import {
  FreqLimit,
  FreqLimitGuard,
  type FreqLimitOptions,
  FreqLimitVerdict,
  type Verdict,
} from 'nestjs-freq-limit';
import { until } from '../support/cluster.js';
import {
  type Broker,
  messageClient,
  closeMicroservices,
  startHybrid,
  startMicroservice,
  transportOf,
  denied,
} from '../support/microservices.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, uniqueNamespace } from '../support/redis.js';
import { signal } from '../support/signal.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);
const BROKERS: readonly Broker[] = ['tcp', 'redis'];
/** A prefix for channels, since all suites share one Redis. */
const ON = uniqueNamespace();

afterEach(closeMicroservices);

/** Sets the user, as guards of applications do. */
@Injectable()
class Recognise implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { as } = context.switchToRpc().getData<{ as?: string }>();
    Object.assign(context.switchToRpc().getContext<object>(), {
      user: as === undefined ? undefined : { id: as },
    });
    return true;
  }
}

const events: unknown[] = [];

@Controller()
class Messages {
  @MessagePattern(`${ON}.free`)
  free() {
    return 'free';
  }
  @MessagePattern(`${ON}.phone`)
  @FreqLimit('1m', 2, 'phone:{body.phone}')
  @FreqLimit({ window: '1h', limit: 5, key: 'phone:{body.phone}', name: 'hourly' })
  phone() {
    return 'sent';
  }
  @MessagePattern(`${ON}.address`)
  @FreqLimit('1m', 2, '{ip}')
  address() {
    return 'ok';
  }
  @MessagePattern(`${ON}.verdict`)
  @FreqLimit('1m', 2, 'all')
  verdict(@FreqLimitVerdict() { tightest }: Verdict) {
    return tightest?.remaining;
  }
  @MessagePattern(`${ON}.failures`)
  @FreqLimit({ window: '1m', limit: 2, key: 'all', countWhen: 'failure' })
  failures(@Payload() { fails }: { fails: boolean }) {
    if (fails) throw new RpcException('wrong');
    return 'right';
  }
  @MessagePattern(`${ON}.shadow`)
  @FreqLimit({ window: '1m', limit: 1, key: 'all', shadow: true })
  shadow() {
    return 'ok';
  }
  @EventPattern(`${ON}.event`)
  @FreqLimit('1m', 2, 'all')
  event(@Payload() data: unknown) {
    events.push(data);
  }
  @MessagePattern(`${ON}.needs`)
  @FreqLimit({ window: '1m', limit: 1, key: '{body.phone}', onMissingKey: 'deny' })
  needs() {
    return 'ok';
  }
}

@Controller()
class Users {
  @MessagePattern(`${ON}.user`)
  @UseGuards(Recognise, FreqLimitGuard)
  @FreqLimit('1m', 1, '{user.id}')
  user() {
    return 'ok';
  }
}

const { warnings } = captureLog();

describe.each(BROKERS)('a microservice over %s', (broker) => {
  async function start(limits: FreqLimitOptions = {}) {
    const transport = await transportOf(broker);
    await startMicroservice(transport, { limits, controllers: [Messages] });
    return messageClient(transport);
  }
  const sendTimes = async (
    client: ReturnType<typeof messageClient>,
    times: number,
    name: string,
    data: unknown = {},
  ) => {
    const answers: unknown[] = [];
    for (let i = 0; i < times; i++) answers.push(await client.send(`${ON}.${name}`, data));
    return answers;
  };

  it('runs handlers without rules, without a store call', async () => {
    const onVerdict = jest.fn();
    const client = await start({ ...inRedis(), onVerdict });
    expect(await sendTimes(client, 3, 'free')).toEqual(['free', 'free', 'free']);
    expect(onVerdict).not.toHaveBeenCalled();
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });

  it('denies messages over the limit, by a field of the payload', async () => {
    const client = await start(inRedis());
    expect(await sendTimes(client, 3, 'phone', { phone: 1 })).toEqual(['sent', 'sent', denied()]);
    expect(await sendTimes(client, 1, 'phone', { phone: 2 })).toEqual(['sent']);
    expect(await sendTimes(client, 1, 'free')).toEqual(['free']);
  });

  it('gives a handler its verdict', async () => {
    expect(await sendTimes(await start(), 3, 'verdict')).toEqual([1, 0, denied()]);
  });

  it('gives a handler its verdict with a payload that is a string', async () => {
    expect(await sendTimes(await start(), 2, 'verdict', 'plain')).toEqual([1, 0]);
  });

  it('counts only failures with countWhen', async () => {
    const client = await start(inRedis());
    expect(await sendTimes(client, 3, 'failures', { fails: false })).toEqual(['right', 'right', 'right']);
    const wrong = { error: { status: 'error', message: 'wrong' } };
    expect(await sendTimes(client, 3, 'failures', { fails: true })).toEqual([wrong, wrong, denied()]);
  });

  it('answers all messages of a shadow rule', async () => {
    expect(await sendTimes(await start(), 2, 'shadow')).toEqual(['ok', 'ok']);
    expect(warnings).toEqual([
      'FREQ_LIMIT_SHADOW_DENIED: Messages.shadow, rule "1m": this shadow rule would have denied a request',
    ]);
  });

  it('drops events over the limit', async () => {
    const onDenied = jest.fn();
    const client = await start({ onDenied });
    events.length = 0;
    for (const n of [1, 2, 3]) await client.emit(`${ON}.event`, n);
    await until(() => onDenied.mock.calls.length === 1);
    expect(events).toEqual([1, 2]);
  });

  it('rejects a message without its key with onMissingKey: deny', async () => {
    expect(await sendTimes(await start(), 1, 'needs')).toEqual([
      {
        error: {
          status: 'error',
          code: 'BAD_REQUEST',
          message: 'Missing required value: body.phone',
        },
      },
    ]);
  });

  it('sends the exception of the application', async () => {
    const client = await start({ exceptionFactory: () => new RpcException({ mine: true }) });
    expect((await sendTimes(client, 3, 'phone', { phone: 1 })).at(-1)).toEqual({ error: { mine: true } });
  });

  it('counts by the user on the RPC context', async () => {
    const transport = await transportOf(broker);
    await startMicroservice(transport, { limits: { globalGuard: false }, controllers: [Users] });
    const client = messageClient(transport);
    expect(await sendTimes(client, 2, 'user', { as: 'u1' })).toEqual(['ok', denied()]);
    expect(await sendTimes(client, 1, 'user', { as: 'u2' })).toEqual(['ok']);
  });

  it('allows exactly the limit of many messages at once', async () => {
    const client = await start(inRedis());
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => client.send(`${ON}.phone`, { phone: 1 })),
    );
    expect(answers.filter((answer) => answer === 'sent')).toHaveLength(2);
    expect(answers.filter((answer) => answer !== 'sent')).toEqual(Array(48).fill(denied()));
  });
});

describe('an address of a message', () => {
  const rules = [{ window: '1m', limit: 2, key: '{ip}', name: 'app' }] as const;

  it('is the socket’s over TCP, also for rules of the module', async () => {
    const transport = await transportOf('tcp');
    await startMicroservice(transport, { limits: { ...inRedis(), rules }, controllers: [Messages] });
    const client = messageClient(transport);
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await client.send(`${ON}.free`, {}));
    expect(answers).toEqual(['free', 'free', denied()]);
    expect((await keysOf(suite.client, suite.namespace))[0]).toMatch(/:127\.0\.0\.1$/);
  });

  it('does not exist with a broker: rules of the module do not apply, and a rule of the handler counts all messages together', async () => {
    const transport = await transportOf('redis');
    await startMicroservice(transport, { limits: { ...inRedis(), rules }, controllers: [Messages] });
    const [one, two] = [messageClient(transport), messageClient(transport)];
    for (let i = 0; i < 4; i++) expect(await one.send(`${ON}.free`, {})).toBe('free');
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    expect(await one.send(`${ON}.address`, {})).toBe('ok');
    expect(await two.send(`${ON}.address`, {})).toBe('ok');
    expect(await two.send(`${ON}.address`, {})).toEqual(denied());
    expect(warnings).toEqual([]);
  });

  it('is known of TCP clients that disconnect before their message is handled', async () => {
    const [come, gone, done] = [signal(), signal(), signal()];
    class Late implements CanActivate {
      async canActivate(context: ExecutionContext) {
        const { netSocket } = context.switchToRpc().getContext<TcpContext>().getSocketRef() as unknown as {
          netSocket: Socket;
        };
        netSocket.once('close', gone.give);
        come.give();
        await gone.given;
        return true;
      }
    }
    @Controller()
    class Patient {
      @EventPattern('late')
      @UseGuards(Late, FreqLimitGuard)
      late(@Payload() message: unknown) {
        done.give(message);
      }
    }
    const transport = await transportOf('tcp');
    const limits = { ...inRedis(), rules, globalGuard: false };
    await startMicroservice(transport, { limits, controllers: [Patient] });
    const client = messageClient(transport);
    await client.emit('late', { text: 'bye' });
    await come.given;
    client.close();
    expect(await done.given).toEqual({ text: 'bye' });
    expect((await keysOf(suite.client, suite.namespace))[0]).toMatch(/:127\.0\.0\.1$/);
  });
});

describe('the example', () => {
  it('limits codes by phone', async () => {
    const transport = await transportOf('tcp');
    await startHybrid(transport, { controllers: [CodesController] });
    const client = messageClient(transport);
    expect(await client.send('codes.send', { phone: '1' })).toEqual({ sentTo: '1' });
    expect(await client.send('codes.send', { phone: '1' })).toEqual(denied());
  });
});
