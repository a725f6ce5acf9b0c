import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Injectable,
  Logger,
  UseGuards,
} from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { jest } from '@jest/globals';
import { EventPattern, MessagePattern, Payload, RpcException, type TcpContext } from '@nestjs/microservices';
import type { Socket } from 'node:net';
import { CodesController } from '../../examples/microservices/codes.controller.js';
import { RMQ } from '../../examples/microservices/rmq.adapter.js';
import {
  FreqLimit,
  FreqLimitGuard,
  type FreqLimitOptions,
  FreqLimitVerdict,
  isFreqLimitExceeded,
  type Verdict,
} from '../../src/index.js';
import { startApp, statuses } from '../support/app.js';
import { until } from '../support/cluster.js';
import { signal } from '../support/signal.js';
import {
  type Broker,
  callerOf,
  closeMicroservices,
  startHybrid,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';
import { keysOf, redisUrl, uniqueNamespace } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });
const BROKERS: readonly Broker[] = ['tcp', 'redis'];
/** Channels of the Redis that all suites share. */
const ON = uniqueNamespace();

afterEach(closeMicroservices);

const denied = (retryAfter = 60) => ({
  error: {
    status: 'error',
    code: 'TOO_MANY_REQUESTS',
    message: `Too many requests, try again in ${retryAfter} s`,
    retryAfter,
  },
});

/** Says who calls, as guards of applications do. */
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
const unreachable = jest.fn();

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

function logged(level: 'warn' | 'error'): string[] {
  const lines: string[] = [];
  jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => {
    lines.push(String(line));
  });
  return lines;
}

describe.each(BROKERS)('a microservice over %s', (broker) => {
  async function start(limits: FreqLimitOptions = {}) {
    const transport = await transportOf(broker);
    await startMicroservice(transport, { limits, controllers: [Messages] });
    return callerOf(transport);
  }
  const asked = async (
    caller: ReturnType<typeof callerOf>,
    times: number,
    name: string,
    data: unknown = {},
  ) => {
    const answers: unknown[] = [];
    for (let i = 0; i < times; i++) answers.push(await caller.ask(`${ON}.${name}`, data));
    return answers;
  };

  it('runs handlers without rules, and asks no store', async () => {
    const onVerdict = jest.fn();
    const caller = await start({ ...inRedis(), onVerdict });
    expect(await asked(caller, 3, 'free')).toEqual(['free', 'free', 'free']);
    expect(onVerdict).not.toHaveBeenCalled();
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });

  it('denies what is too much, by what the payload says', async () => {
    const caller = await start(inRedis());
    expect(await asked(caller, 3, 'phone', { phone: 1 })).toEqual(['sent', 'sent', denied()]);
    expect(await asked(caller, 1, 'phone', { phone: 2 })).toEqual(['sent']);
    expect(await asked(caller, 1, 'free')).toEqual(['free']);
  });

  it('shows a handler its verdict', async () => {
    expect(await asked(await start(), 3, 'verdict')).toEqual([1, 0, denied()]);
  });

  it('shows it with a payload of a plain value too', async () => {
    expect(await asked(await start(), 2, 'verdict', 'plain')).toEqual([1, 0]);
  });

  it('counts only failures where a rule says so', async () => {
    const caller = await start(inRedis());
    expect(await asked(caller, 3, 'failures', { fails: false })).toEqual(['right', 'right', 'right']);
    const wrong = { error: { status: 'error', message: 'wrong' } };
    expect(await asked(caller, 3, 'failures', { fails: true })).toEqual([wrong, wrong, denied()]);
  });

  it('answers all where a rule only reports', async () => {
    const warnings = logged('warn');
    expect(await asked(await start(), 2, 'shadow')).toEqual(['ok', 'ok']);
    expect(warnings).toEqual(['Messages.shadow, rule "1m": a shadow rule, which would have denied a visit']);
  });

  it('drops events that are too many', async () => {
    const onDenied = jest.fn();
    const caller = await start({ onDenied });
    events.length = 0;
    for (const n of [1, 2, 3]) await caller.tell(`${ON}.event`, n);
    await until(() => onDenied.mock.calls.length === 1);
    expect(events).toEqual([1, 2]);
  });

  it('refuses a message without its key where the rule says so', async () => {
    expect(await asked(await start(), 1, 'needs')).toEqual([
      {
        error: {
          status: 'error',
          code: 'BAD_REQUEST',
          message: 'The request lacks what its limit counts by: body phone',
        },
      },
    ]);
  });

  it('tells a client of an application’s own exception', async () => {
    const caller = await start({ exceptionFactory: () => new RpcException({ mine: true }) });
    expect((await asked(caller, 3, 'phone', { phone: 1 })).at(-1)).toEqual({ error: { mine: true } });
  });

  it('counts by the user on the RPC context', async () => {
    const transport = await transportOf(broker);
    await startMicroservice(transport, { limits: { globalGuard: false }, controllers: [Users] });
    const caller = callerOf(transport);
    expect(await asked(caller, 2, 'user', { as: 'u1' })).toEqual(['ok', denied()]);
    expect(await asked(caller, 1, 'user', { as: 'u2' })).toEqual(['ok']);
  });

  it('never lets more than the limit pass of many at once', async () => {
    const caller = await start(inRedis());
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => caller.ask(`${ON}.phone`, { phone: 1 })),
    );
    expect(answers.filter((answer) => answer === 'sent')).toHaveLength(2);
    expect(answers.filter((answer) => answer !== 'sent')).toEqual(Array(48).fill(denied()));
  });
});

describe('an address', () => {
  const rules = [{ window: '1m', limit: 2, key: '{ip}', name: 'app' }] as const;

  it('is the socket’s over TCP, for rules of the module too', async () => {
    const transport = await transportOf('tcp');
    await startMicroservice(transport, { limits: { ...inRedis(), rules }, controllers: [Messages] });
    const caller = callerOf(transport);
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await caller.ask(`${ON}.free`, {}));
    expect(answers).toEqual(['free', 'free', denied()]);
    expect((await keysOf(suite.client, suite.namespace))[0]).toMatch(/:127\.0\.0\.1$/);
  });

  it('does not exist behind a broker: rules of the module leave messages alone, a handler’s own counts all of them', async () => {
    const transport = await transportOf('redis');
    const warnings = logged('warn');
    await startMicroservice(transport, { limits: { ...inRedis(), rules }, controllers: [Messages] });
    const [one, two] = [callerOf(transport), callerOf(transport)];
    for (let i = 0; i < 4; i++) expect(await one.ask(`${ON}.free`, {})).toBe('free');
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    expect(await one.ask(`${ON}.address`, {})).toBe('ok');
    expect(await two.ask(`${ON}.address`, {})).toBe('ok');
    expect(await two.ask(`${ON}.address`, {})).toEqual(denied());
    expect(warnings).toEqual([]);
  });

  it('is known of TCP clients that are gone when their message’s turn comes, so that none escapes', async () => {
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
    const caller = callerOf(transport);
    await caller.tell('late', { text: 'bye' });
    await come.given;
    caller.close();
    expect(await done.given).toEqual({ text: 'bye' });
    expect((await keysOf(suite.client, suite.namespace))[0]).toMatch(/:127\.0\.0\.1$/);
  });
});

describe('a hybrid application', () => {
  @Controller()
  class Both {
    @Get()
    @FreqLimit('1m', 1)
    get() {
      return 'ok';
    }
    @MessagePattern('limited')
    @FreqLimit('1m', 1, 'all')
    limited() {
      return 'ok';
    }
    @EventPattern('also')
    @FreqLimit('1m', 1, 'all')
    also(@Payload() message: unknown) {
      events.push(message);
    }
    @MessagePattern('free')
    free() {
      return 'free';
    }
  }
  @Controller()
  class Guarded {
    @MessagePattern('guarded')
    @UseGuards(FreqLimitGuard)
    @FreqLimit('1m', 1, 'all')
    guarded() {
      return 'ok';
    }
  }
  const warning =
    'Both.limited, Both.also: limits on message handlers of an application that answers HTTP too. Nest puts global ' +
    'guards before them only where the microservice is connected with { inheritAppConfig: true }: connect it so, or ' +
    'write @UseGuards(FreqLimitGuard) beside the limits, which also ends this warning.';

  it('has no global guard before its messages, and says so when it starts', async () => {
    const warnings = logged('warn');
    const transport = await transportOf('tcp');
    const { url } = await startHybrid(transport, { controllers: [Both, Guarded], limits: inRedis() });
    const caller = callerOf(transport);
    expect([await caller.ask('limited', {}), await caller.ask('limited', {})]).toEqual(['ok', 'ok']);
    expect([await caller.ask('guarded', {}), await caller.ask('guarded', {})]).toEqual(['ok', denied()]);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(warnings).toEqual([warning]);
  });

  it('has it with inheritAppConfig', async () => {
    const transport = await transportOf('tcp');
    const parts = { controllers: [Both, Guarded], limits: inRedis() };
    await startHybrid(transport, parts, { inheritAppConfig: true });
    const caller = callerOf(transport);
    expect([await caller.ask('limited', {}), await caller.ask('limited', {})]).toEqual(['ok', denied()]);
    expect([await caller.ask('guarded', {}), await caller.ask('guarded', {})]).toEqual(['ok', denied()]);
    expect(await caller.ask('free', {})).toBe('free');
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(2);
  });

  it('is not warned where all limited messages are guarded, or have the module’s rules alone', async () => {
    const warnings = logged('warn');
    @Controller()
    @UseGuards(class extends FreqLimitGuard {})
    class GuardedAsClass {
      @MessagePattern('a')
      @FreqLimit('1m', 1, 'all')
      a() {}
    }
    @Controller()
    class ModuleRulesAlone {
      @MessagePattern('b')
      b() {}
    }
    const limits = { rules: [{ window: '1m', limit: 9 }] } as const;
    await startApp('express', { controllers: [GuardedAsClass, ModuleRulesAlone, Guarded], limits });
    expect(warnings).toEqual([]);
  });

  it('is not meant where there is no HTTP', async () => {
    const warnings = logged('warn');
    await startMicroservice(await transportOf('tcp'), { controllers: [Both] });
    expect(warnings).toEqual([]);
  });
});

describe('a handler that another library calls, with arguments and a kind of its own', () => {
  const seen: string[] = [];

  @Injectable()
  class Queue {
    free(message: unknown) {
      return message;
    }
    @Tagged()
    @FreqLimit('1m', 2, '{ip}')
    limited(message: unknown) {
      return message;
    }
    @Tagged()
    @FreqLimit('1m', 1, '{body.phone}{headers.x-tenant}')
    phone() {
      return 'sent';
    }
    @Tagged()
    @FreqLimit({ window: '1m', limit: 1, key: 'all', countWhen: 'failure' })
    failures(message: string) {
      if (message === 'wrong') throw new Error('wrong');
      return message;
    }
  }

  /** Stands for the decorator of such a library. */
  function Tagged(): MethodDecorator {
    return (_target, name, descriptor) => {
      seen.push(String(name));
      Reflect.defineMetadata('queue', true, descriptor.value as object);
    };
  }

  async function start(limits: FreqLimitOptions) {
    const { app } = await startApp('express', { providers: [Queue], limits });
    const queue = app.get(Queue);
    return (name: 'free' | 'limited' | 'phone' | 'failures', ...args: unknown[]): Promise<unknown> => {
      const call = app
        .get(ExternalContextCreator)
        .create(
          queue,
          queue[name] as (...args: unknown[]) => unknown,
          name,
          undefined,
          undefined,
          undefined,
          undefined,
          undefined,
          'rmq',
        );
      return call(...args) as Promise<unknown>;
    };
  }

  it('runs without rules, whatever its arguments are', async () => {
    const call = await start(inRedis());
    for (const args of [[], ['text', 7], [undefined], [null], [{ ip: '10.0.0.1' }, {}]]) {
      expect(await call('free', ...args)).toBe(args[0]);
    }
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });

  it('is left alone by the module’s rules by address', async () => {
    const call = await start({ ...inRedis(), rules: [{ window: '1m', limit: 1, key: '{ip}' }] });
    const warnings = logged('warn');
    for (const message of [{ ip: '10.0.0.1' }, 'text', undefined])
      expect(await call('free', message)).toBe(message);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('is counted by its own rules, all callers together, and denied by an HTTP exception without headers', async () => {
    const call = await start({ ...inRedis(), headers: 'both' });
    // the second argument looks like a response
    const raw = { header: unreachable, setHeader: unreachable };
    expect(await call('limited', { ip: '10.0.0.1' }, raw)).toEqual({ ip: '10.0.0.1' });
    expect(await call('limited', 'text', raw)).toBe('text');
    const error = await call('limited', { ip: '10.0.0.2' }, raw).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HttpException);
    expect((error as HttpException).getStatus()).toBe(429);
    expect(isFreqLimitExceeded(error)).toBe(true);
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(1);
  });

  it('settles each call by itself, though a call has nothing to itself', async () => {
    const call = await start(inRedis());
    const shared = {};
    expect(await call('failures', 'right', shared)).toBe('right');
    await expect(call('failures', 'wrong', shared)).rejects.toThrow('wrong');
    await expect(call('failures', 'right', shared)).rejects.toThrow('Too many requests');
  });

  it('is read and answered as the application describes it', async () => {
    const call = await start({ ...inRedis(), contextAdapters: { rmq: RMQ } });
    const from = (tenant: string) => ({ properties: { headers: { 'x-tenant': tenant } } });
    expect(await call('phone', { phone: 1 }, from('a'))).toBe('sent');
    expect(await call('phone', { phone: 1 }, from('b'))).toBe('sent');
    const error = await call('phone', { phone: 1 }, from('a')).catch((thrown: unknown) => thrown);
    expect(error).not.toBeInstanceOf(HttpException);
    expect((error as Error).message).toBe('Too many requests, try again in 60 s');
    expect(isFreqLimitExceeded(error)).toBe(true);
  });
});

describe('the example', () => {
  it('limits codes for a phone', async () => {
    const transport = await transportOf('tcp');
    await startHybrid(transport, { controllers: [CodesController] });
    const caller = callerOf(transport);
    expect(await caller.ask('codes.send', { phone: '1' })).toEqual({ sentTo: '1' });
    expect(await caller.ask('codes.send', { phone: '1' })).toEqual(denied());
  });
});
