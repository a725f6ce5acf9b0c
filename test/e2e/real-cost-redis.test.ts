import { Controller, Get, Param } from '@nestjs/common';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  FreqLimit,
  FreqLimitCharge,
  type FreqLimitCharges,
  type FreqLimitOptions,
  FreqLimitService,
  type Outcome,
} from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { startCluster, until } from '../support/cluster.js';
import { remaining } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { watchCommands } from '../support/monitor.js';
import { startProxy } from '../support/proxy.js';
import { redisSuite } from '../support/redis-suite.js';
import { plainClient } from '../support/redis.js';
import { startServer } from '../support/server.js';
import { usedOf } from '../support/used.js';

const suite = redisSuite();
const log = captureLog();

const meter = (name: string, cost: number) =>
  ({ name, window: '1d', limit: 1_000, key: 'all', cost }) as const;
const usage = (name: string) => (outcome: Outcome) => (outcome.result as Record<string, number>)[name]!;

/** Several meters of one answer, settled in each way. */
@Controller()
class Chat {
  @Get('returned')
  @FreqLimit(meter('requests', 1))
  @FreqLimit({ ...meter('input', 100), actualCost: usage('input') })
  @FreqLimit({ ...meter('output', 200), actualCost: usage('output') })
  @FreqLimit({ ...meter('failures', 1), countWhen: 'failure' })
  returned() {
    return { input: 40, output: 500 };
  }
  @Get('settled')
  @FreqLimit(meter('requests', 1))
  @FreqLimit({ ...meter('input', 100), algorithm: 'token-bucket' })
  @FreqLimit({ ...meter('output', 200), algorithm: 'sliding-window' })
  @FreqLimit({ ...meter('money', 10), window: { calendar: 'year' } })
  async settled(@FreqLimitCharge() { settle }: FreqLimitCharges) {
    await settle({ input: 40, output: 500, money: 3 });
  }
  @Get('mixed')
  @FreqLimit(meter('requests', 1))
  @FreqLimit(meter('input', 100))
  @FreqLimit({ ...meter('output', 200), actualCost: usage('output') })
  @FreqLimit({ ...meter('failures', 1), countWhen: 'failure' })
  async mixed(@FreqLimitCharge('input') charge: FreqLimitCharge) {
    await charge.settle(40);
    return { output: 500 };
  }
  @Get('plain')
  @FreqLimit(meter('requests', 1))
  plain() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('real costs in Redis on %s', (platform) => {
  it.each([
    ['returned', 2, { requests: 999, input: 960, output: 500, failures: 1_000 }],
    ['settled', 2, { requests: 999, input: 960, output: 500, money: 997 }],
    ['mixed', 2, { requests: 999, input: 960, output: 500, failures: 1_000 }],
    ['plain', 1, { requests: 999 }],
  ])('take one command to charge, and one to settle: %s', async (path, calls, left) => {
    const server = await startServer();
    const limits = { redis: server.url, namespace: suite.namespace, timeoutMs: 5_000 };
    const { url } = await startApp(platform, { controllers: [Chat], limits });
    // loads the scripts
    await fetch(`${url}/${path}`);
    const client = plainClient(server.url);
    await client.flushdb();
    const commands: string[] = [];
    const stop = await watchCommands(server.url, ({ args: [command = ''], isFromScript }) => {
      if (!isFromScript) commands.push(command.toLowerCase());
    });
    expect(remaining(await fetch(`${url}/${path}`))).toEqual(left);
    await sleep(50);
    expect(commands.filter((command) => command !== 'ping')).toEqual(Array<string>(calls).fill('evalsha'));
    expect(log.lines).toEqual([]);
    stop();
    client.disconnect();
    await closeApps();
    await server.stop();
  });

  it('stay estimates if Redis goes away before the end, and are not sent later', async () => {
    let lose!: () => void;
    const gone = new Promise<void>((resolve) => (lose = resolve));
    @Controller()
    class Lost {
      @Get('returned')
      @FreqLimit({ ...meter('tokens', 100), actualCost: () => 40 })
      async returned() {
        await gone;
      }
      @Get('settled')
      @FreqLimit(meter('tokens', 100))
      async settled(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        await gone;
        await charge.settle(400);
      }
    }
    const server = await startServer();
    const proxy = await startProxy(server.port);
    const limits = { redis: proxy.url, timeoutMs: 250 };
    const { app, url } = await startApp(platform, { controllers: [Lost], limits });
    const client = plainClient(server.url);
    const pending = ['returned', 'settled'].map((path) => fetch(`${url}/${path}`));
    await until(async () => (await client.dbsize()) === 2);
    proxy.refuse(true);
    proxy.reset();
    await until(() => !app.get(FreqLimitService).health().isUp);
    lose();
    for (const response of await Promise.all(pending)) {
      expect([response.status, remaining(response)]).toEqual([200, { tokens: 900 }]);
    }
    expect(log.withCode('FREQ_LIMIT_REFUND_FAILED').length).toBeGreaterThan(0);
    // in the meantime this process counts in memory and settles there
    expect(await statuses(20, () => fetch(`${url}/returned`))).toEqual(Array<number>(20).fill(200));
    proxy.refuse(false);
    await until(() => app.get(FreqLimitService).health().isUp);
    const values = await Promise.all((await client.keys('*')).map((key) => client.get(key)));
    expect(values).toEqual(['100', '100']);
    client.disconnect();
    await closeApps();
    await proxy.stop();
    await server.stop();
  });

  it('are settled by requests that end while the application closes', async () => {
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    @Controller()
    class Closing {
      @Get()
      @FreqLimit({ ...meter('tokens', 100), actualCost: () => 40 })
      async get() {
        await finished;
      }
    }
    const parts = { controllers: [Closing], limits: limitsIn('redis', suite) };
    const { app, url } = await startApp(platform, parts);
    const other = await startApp(platform, parts);
    // not kept alive, because the server waits for its connections
    const pending = once(get(url, { agent: false }), 'response') as Promise<[IncomingMessage]>;
    await until(async () => (await usedOf(other.app, Closing, 'get', 'tokens')) === 100);
    const closed = app.close();
    await sleep(20);
    finish();
    const [response] = await pending;
    response.resume();
    expect(response.statusCode).toBe(200);
    await closed;
    expect(await usedOf(other.app, Closing, 'get', 'tokens')).toBe(40);
    expect(log.lines).toEqual([]);
  });

  it('that come after the end of the application are lost', async () => {
    let late: FreqLimitCharge | undefined;
    @Controller()
    class Late {
      @Get()
      @FreqLimit(meter('tokens', 100))
      get(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        late = charge;
      }
    }
    const parts = { controllers: [Late], limits: limitsIn('redis', suite, 250) };
    const { app, url } = await startApp(platform, parts);
    const other = await startApp(platform, parts);
    await fetch(url);
    await app.close();
    await late!.settle(40);
    expect(await usedOf(other.app, Late, 'get', 'tokens')).toBe(100);
  });

  it('of concurrent requests are exact', async () => {
    @Controller()
    class Many {
      @Get()
      @FreqLimit({ ...meter('input', 40), actualCost: () => 30 })
      @FreqLimit({ ...meter('output', 20), algorithm: 'token-bucket' })
      async get(@FreqLimitCharge('output') charge: FreqLimitCharge) {
        await sleep(Math.random() * 5);
        await charge.settle(25);
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Many], limits: limitsIn('redis', suite) });
    const responses = await Promise.all(Array.from({ length: 20 }, () => fetch(url)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await usedOf(app, Many, 'get', 'input')).toBe(600);
    expect(await usedOf(app, Many, 'get', 'output')).toBe(500);
  });
});

it('real costs in a Cluster are settled in every slot', async () => {
  @Controller()
  class Slots {
    @Get(':a/:b')
    @FreqLimit({ ...meter('a', 100), key: '{params.a}', actualCost: usage('a') })
    @FreqLimit({ ...meter('b', 100), key: '{params.b}', algorithm: 'sliding-window' })
    async get(@Param('b') b: string, @FreqLimitCharge('b') charge: FreqLimitCharge) {
      await charge.settle(b.length);
      return { a: 40 };
    }
  }
  const cluster = await startCluster();
  const limits: FreqLimitOptions = {
    redis: { cluster: cluster.nodes },
    namespace: suite.namespace,
    timeoutMs: 5_000,
  };
  const { url } = await startApp('express', { controllers: [Slots], limits });
  for (const b of ['one', 'three', 'fifteen']) {
    expect(remaining(await fetch(`${url}/${b}/${b}`))).toEqual({ a: 960, b: 1_000 - b.length });
  }
  await closeApps();
  await cluster.stop();
});
