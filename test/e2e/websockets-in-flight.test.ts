import { type CanActivate, type ExecutionContext, UseGuards } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  FreqLimit,
  type FreqLimitEvent,
  type FreqLimitOptions,
  FreqLimitVerdict,
  type Verdict,
} from 'nestjs-freq-limit';
import { limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';
import {
  type Client,
  closeClients,
  connect,
  LIBRARIES,
  startGateways,
  type Received,
  denied,
  reply,
} from '../support/sockets.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

afterEach(closeClients);

/** Delays messages with the text 'slow' until another message has been answered. */
class Overtaken implements CanActivate {
  private static go: () => void;
  private static overtaken: Promise<void>;

  static reset(): void {
    this.overtaken = new Promise((resolve) => (this.go = resolve));
  }

  async canActivate(context: ExecutionContext) {
    const message = context.switchToWs().getData<string>();
    if (message === 'refused') return false;
    if (message.startsWith('slow')) await Overtaken.overtaken;
    return true;
  }

  static let(): void {
    this.go();
  }
}

const message = (context: ExecutionContext) => context.switchToWs().getData<string>();

@WebSocketGateway()
class InFlight {
  @SubscribeMessage('verdict')
  @FreqLimit({
    window: '1m',
    limit: (context) => (message(context) === 'slow' ? 5 : 9),
    key: message,
  })
  @UseGuards(Overtaken)
  verdict(@MessageBody() text: string, @FreqLimitVerdict() { tightest }: Verdict) {
    Overtaken.let();
    return reply([text, tightest?.limit]);
  }
  @SubscribeMessage('failures')
  @FreqLimit({ window: '1m', limit: 9, key: message, countWhen: 'failure' })
  @UseGuards(Overtaken)
  failures(@MessageBody() text: string) {
    Overtaken.let();
    if (text.endsWith('wrong')) throw new WsException('wrong');
    return reply(text);
  }
  @SubscribeMessage('ten')
  @FreqLimit('1m', 10)
  ten(@FreqLimitVerdict() { tightest }: Verdict) {
    return reply(tightest?.remaining);
  }
  @SubscribeMessage('ten-failures')
  @FreqLimit({ window: '1m', limit: 10, countWhen: 'failure' })
  async tenFailures() {
    throw new WsException('wrong');
  }
}

describe.each(LIBRARIES)('messages in flight on one client of %s', (library) => {
  beforeEach(() => {
    Overtaken.reset();
  });
  const counters = async () => {
    const keys = (await keysOf(suite.client, suite.namespace)).sort();
    return Promise.all(
      keys.map(async (key) => [key.slice(key.lastIndexOf(':') + 1), await suite.client.get(key)]),
    );
  };
  const receivedBy = async (client: Client, count: number): Promise<Received[]> => {
    const received: Received[] = [];
    for (let i = 0; i < count; i++) received.push(await client.next());
    return received;
  };

  it.each([
    ['strings', 'hello'],
    ['objects', {}],
    ['undefined', undefined],
  ])('never exceed the limit, and have their own verdicts: %s', async (_, payload) => {
    const { url } = await startGateways('express', library, [InFlight], inRedis());
    const client = await connect(library, url);
    for (let i = 0; i < 200; i++) client.send('ten', payload);
    const received = await receivedBy(client, 200);
    const seen = received.filter(({ event }) => event === 'reply').map(({ data }) => data);
    expect(seen.sort((a, b) => Number(b) - Number(a))).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    expect(received.filter(({ event }) => event === 'exception')).toEqual(Array(190).fill(denied()));
  });

  it('keep their own verdict if one overtakes another', async () => {
    const { url } = await startGateways('express', library, [InFlight], inRedis());
    const client = await connect(library, url);
    client.send('verdict', 'slow');
    client.send('verdict', 'fast');
    expect((await receivedBy(client, 2)).map(({ data }) => data)).toEqual([
      ['fast', 9],
      ['slow', 5],
    ]);
  });

  it('are refunded separately if one overtakes another, or a later guard denies', async () => {
    const { url } = await startGateways('express', library, [InFlight], inRedis());
    const client = await connect(library, url);
    client.send('failures', 'refused');
    client.send('failures', 'slow-wrong');
    client.send('failures', 'slow-right');
    client.send('failures', 'right');
    client.send('failures', 'wrong');
    await receivedBy(client, 5);
    // a message that a later guard denies has an unknown outcome, so it counts
    expect(await counters()).toEqual([
      ['refused', '1'],
      ['slow-wrong', '1'],
      ['wrong', '1'],
    ]);
  });

  it('never exceed the limit in flight if only failures count', async () => {
    const { url } = await startGateways('express', library, [InFlight], inRedis());
    const client = await connect(library, url);
    for (let i = 0; i < 100; i++) client.send('ten-failures', 'wrong');
    const received = await receivedBy(client, 100);
    expect(received.filter(({ data }) => (data as { message: string }).message === 'wrong')).toHaveLength(10);
    expect(await counters()).toEqual([['127.0.0.1', '10']]);
  });
});

describe.each(LIBRARIES)('a long connection of %s', (library) => {
  it('keeps no data of its messages', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const verdicts: WeakRef<Verdict>[] = [];
    const onVerdict = ({ verdict }: FreqLimitEvent) => verdicts.push(new WeakRef(verdict));
    const { url } = await startGateways('express', library, [InFlight], { onVerdict });
    const client = await connect(library, url);
    for (const payload of ['plain', {}]) {
      for (const event of ['ten', 'ten-failures']) await client.requestTimes(300, event, payload);
    }
    await new Promise(setImmediate);
    collect();
    await new Promise(setImmediate);
    collect();
    expect(verdicts).toHaveLength(1_200);
    expect(verdicts.filter((verdict) => verdict.deref() !== undefined).length).toBeLessThan(20);
  });
});
