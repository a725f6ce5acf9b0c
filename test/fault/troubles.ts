import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/cluster.js';
import type { Proxy } from '../support/proxy.js';
import { block } from './block.js';
import type { Chance } from './chance.js';
import type { Wire } from './wire.js';

/** A server and the network to it, both of which can have faults. */
export interface Troubled {
  readonly proxy: Proxy;
  readonly wire: Wire;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  command(name: string, ...args: (string | number)[]): Promise<unknown>;
}

/** A fault and its time. */
export interface Trouble {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

// one at a time; each is over when it resolves
const TROUBLES: Readonly<Record<string, (scene: Troubled, chance: Chance) => Promise<unknown>>> = {
  hang: async (scene, chance) => {
    scene.signal('SIGSTOP');
    await sleep(30 + chance() * 900);
    scene.signal('SIGCONT');
  },
  reset: async ({ proxy }) => proxy.reset(),
  loseReply: async ({ proxy, wire }) => {
    const { endings } = wire;
    proxy.loseNextReply();
    // there is none while the breaker is open
    await until(() => wire.endings > endings);
  },
  delay: async ({ wire }, chance) => {
    const delayMs = 10 + chance() * 500;
    wire.delayMs = delayMs;
    await sleep(100 + chance() * 700);
    wire.delayMs = 0;
    await sleep(delayMs);
  },
  forget: (scene) => scene.command('SCRIPT', 'FLUSH'),
  drop: async ({ wire }, chance) => {
    wire.pause();
    await sleep(30 + chance() * 900);
    wire.release();
  },
  blockProcess: async (_, chance) => {
    block(30 + chance() * 900);
  },
};

/** Causes one fault after the other on one of the servers, with calm in between. */
export async function troubleFor(
  seconds: number,
  scenes: readonly Troubled[],
  chance: Chance,
): Promise<Trouble[]> {
  const troubles: Trouble[] = [];
  const names = Object.keys(TROUBLES);
  const untilMs = performance.now() + seconds * 1_000;
  while (performance.now() < untilMs) {
    await sleep(chance() * 800);
    const scene = scenes[Math.floor(chance() * scenes.length)]!;
    const name = names[Math.floor(chance() * names.length)]!;
    const fromMs = performance.now();
    await TROUBLES[name]!(scene, chance);
    troubles.push({ name, fromMs, toMs: performance.now() });
  }
  return troubles;
}
