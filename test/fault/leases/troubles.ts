import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../support/cluster.js';
import { type Proxy, startProxy } from '../../support/proxy.js';
import type { Chance } from '../chance.js';
import { LoneServer } from '../scene.js';
import { startWire, type Wire } from '../wire.js';
import type { Crew } from './crew.js';
import { nowMs } from './reports.js';

/** A network between some of the processes and the server. */
export interface Way {
  readonly proxy: Proxy;
  readonly wire: Wire;
}

/** A server that keeps its data when it is killed, and two ways to it. */
export class Server {
  private constructor(
    readonly lone: LoneServer,
    readonly ways: readonly Way[],
  ) {}

  static async start(): Promise<Server> {
    const lone = await LoneServer.start(['--appendonly', 'yes', '--appendfsync', 'always']);
    const proxy = await startProxy(lone.port);
    return new Server(lone, [lone, { proxy, wire: await startWire(proxy.port) }]);
  }

  async stop(): Promise<void> {
    const [, own] = this.ways;
    await Promise.all([own?.wire.stop(), own?.proxy.stop()]);
    await this.lone.stop();
  }
}

/** A fault of the server or of a way to it, and its time. */
export interface Trouble {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

interface Place {
  readonly server: LoneServer;
  readonly way: Way;
  readonly chance: Chance;
  readonly lifeMs: number;
}

// each is over when it resolves
const OF_SERVER: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
  restart: async ({ server, chance }) => {
    await server.kill();
    await sleep(50 + chance() * 1_000);
    await server.restart();
  },
  hang: async ({ server, chance }) => {
    server.signal('SIGSTOP');
    await sleep(30 + chance() * 1_200);
    server.signal('SIGCONT');
  },
  'short cut': ({ way, chance }) => cut(way, 50 + chance() * 1_000),
  'long cut': ({ way, chance, lifeMs }) => cut(way, lifeMs * (1.1 + 0.3 * chance())),
  reset: async ({ way }) => way.proxy.reset(),
  'lost reply': async ({ way: { proxy, wire } }) => {
    const { endings } = wire;
    proxy.loseNextReply();
    await until(() => wire.endings > endings);
  },
  delay: async ({ way: { wire }, chance }) => {
    const delayMs = 10 + chance() * 500;
    wire.delayMs = delayMs;
    await sleep(100 + chance() * 700);
    wire.delayMs = 0;
    await sleep(delayMs);
  },
  pause: async ({ way: { wire }, chance }) => {
    wire.pause();
    await sleep(30 + chance() * 900);
    wire.release();
  },
  'scripts flushed': ({ server }) => server.command('SCRIPT', 'FLUSH'),
};

async function cut({ proxy }: Way, ms: number): Promise<void> {
  proxy.refuse(true);
  proxy.reset();
  await sleep(ms);
  proxy.refuse(false);
}

interface Plan {
  readonly chance: Chance;
  readonly lifeMs: number;
  readonly untilMs: number;
}

/** Causes one fault of the server or a way after the other, each as often, with calm in between. */
export async function troubleServer(
  { lone, ways }: Server,
  { chance, lifeMs, untilMs }: Plan,
): Promise<Trouble[]> {
  const troubles: Trouble[] = [];
  let names: string[] = [];
  while (nowMs() < untilMs) {
    await sleep(200 + chance() * 1_800);
    if (names.length === 0) names = Object.keys(OF_SERVER);
    const [name = ''] = names.splice(Math.floor(chance() * names.length), 1);
    const way = ways[Math.floor(chance() * ways.length)]!;
    const fromMs = nowMs();
    await OF_SERVER[name]!({ server: lone, way, chance, lifeMs });
    troubles.push({ name, fromMs, toMs: nowMs() });
  }
  return troubles;
}

/** Kills and stops one process after the other: for less than the life of a lease, or for more. */
export async function troubleProcesses(crew: Crew, { chance, lifeMs, untilMs }: Plan): Promise<void> {
  while (nowMs() < untilMs) {
    await sleep(chance() * lifeMs);
    const what = chance();
    if (what < 0.4) await crew.kill(chance);
    else if (what < 0.75) await crew.stopFor(lifeMs * (0.05 + 0.7 * chance()), chance);
    else await crew.stopFor(lifeMs * (1.1 + 0.4 * chance()), chance);
  }
}
