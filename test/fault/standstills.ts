import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, type Server } from '../support/server.js';
import { startTypeScript, type TypeScriptProcess } from '../support/typescript-process.js';
import { block } from './block.js';
import { chanceOf } from './chance.js';
import type { Fault } from './faults.js';
import { breaches, type Row, runFault } from './harness.js';
import type { Load } from './load.js';
import type { Scene } from './scene.js';

/** Milliseconds of a round trip, without the time of the server. */
export const ROUND_TRIPS_MS = [0, 5] as const;
const PAUSE_MS = 300;
export const SOAK_SECONDS = Number(process.env['SOAK_SECONDS'] ?? 8);
/** Several processes are under load at once. */
const CLIENTS_EACH = 8;
/** A server that the machine keeps from running for longer is not a healthy one. */
const MAX_SERVER_STALL_MS = 100;
const MAX_ATTEMPTS = 4;

type Moment = (block: () => void) => unknown;

/** When the process is blocked, relative to requests sent in this turn of the event loop. */
const MOMENTS: readonly Moment[] = [
  // before they leave
  (block) => {
    block();
  },
  // when they have left, so that their answers wait until the process runs again
  setImmediate,
  // at the beginning of a later turn
  (block) => setTimeout(block, 0),
];

/** A healthy server, a healthy network, and a process that is blocked. */
export class FarServer implements Scene {
  /** How long the machine kept the server or the wire from running, at most. Known after the end. */
  stallMs = 0;

  private constructor(
    private readonly server: Server,
    private readonly wire: TypeScriptProcess,
    private readonly wirePort: number,
  ) {}

  static async start(roundTripMs: number): Promise<FarServer> {
    const server = await startServer();
    const file = new URL('wire-process.ts', import.meta.url);
    const wire = startTypeScript(file, [String(server.port), String(roundTripMs)]);
    return new FarServer(server, wire, Number(await wire.nextMessage()));
  }

  get redis(): { readonly host: string; readonly port: number } {
    return { host: '127.0.0.1', port: this.wirePort };
  }

  get port(): number {
    return this.server.port;
  }

  async stop(): Promise<void> {
    this.wire.process.send('how long?');
    this.stallMs = Number(await this.wire.nextMessage());
    await Promise.all([this.wire.stop(), this.server.stop()]);
  }
}

/** Blocks this process once at each moment. */
async function blockAtEach(ms: number, load: Load): Promise<void> {
  for (const moment of MOMENTS) {
    await blockAt(moment, ms, load);
    await sleep(PAUSE_MS);
  }
}

function blockAt(moment: Moment, ms: number, load: Load): Promise<void> {
  return new Promise((resolve) => {
    load.sendNow();
    moment(() => {
      block(ms);
      resolve();
    });
  });
}

/** Blocks and stops this process, for random times and after random pauses. */
async function blockOften(load: Load): Promise<void> {
  const chance = chanceOf(Number(process.env['SOAK_SEED'] ?? Math.floor(Math.random() * 1e9)));
  const untilMs = performance.now() + SOAK_SECONDS * 1_000;
  while (performance.now() < untilMs) {
    const [ms, moment] = [20 + chance() ** 2 * 1_200, Math.floor(chance() * (MOMENTS.length + 1))];
    await (moment < MOMENTS.length ? blockAt(MOMENTS[moment]!, ms, load) : pause(ms));
    await sleep(chance() * PAUSE_MS);
  }
}

/** The message to the parent process: stop this process for so long. */
export interface Pause {
  readonly pauseMs: number;
}

async function pause(pauseMs: number): Promise<void> {
  const isOver = new Promise((resolve) => process.once('message', resolve));
  process.send?.({ pauseMs } satisfies Pause);
  await isOver;
}

interface Standstill {
  readonly name: string;
  readonly make: (load: Load) => Promise<void>;
}

export const STANDSTILLS: readonly Standstill[] = [
  ...[300, 600, 1_200, 2_500].map((ms) => ({
    name: `own process blocked for ${ms / 1_000} s`,
    make: (load: Load) => blockAtEach(ms, load),
  })),
  ...[600, 2_500].map((ms) => ({
    name: `own process stopped for ${ms / 1_000} s`,
    make: async () => {
      await pause(ms);
      await sleep(PAUSE_MS);
    },
  })),
  { name: `own process blocked and stopped again and again for ${SOAK_SECONDS} s`, make: blockOften },
];

/** A standstill of the process is never the fault of the server: it only makes requests wait. */
export function faultOf({ name, make }: Standstill, roundTripMs: number): Fault<FarServer> {
  return {
    name: `${name}, round trip ${roundTripMs} ms`,
    topology: 'standalone',
    start: () => FarServer.start(roundTripMs),
    make: (_, load) => make(load!),
    lastsMs: 0,
    clientsEach: CLIENTS_EACH,
    end: () => undefined,
    expected: { withoutStore: 'none', outages: 0, neverLate: true, withinS: 0.3 },
  };
}

/** Takes a store through a standstill of this process. Once more if the server itself could not answer in time. */
export async function runStandstill(standstill: Standstill, roundTripMs: number): Promise<Row> {
  const fault = faultOf(standstill, roundTripMs);
  for (let attempt = 1; ; attempt++) {
    const scene = await fault.start();
    const row = await runFault({ ...fault, start: () => Promise.resolve(scene) });
    const isSound = breaches(row, fault.expected).length === 0;
    if (isSound || scene.stallMs <= MAX_SERVER_STALL_MS || attempt === MAX_ATTEMPTS) return row;
  }
}
