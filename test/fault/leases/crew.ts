import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTypeScript, type TypeScriptProcess } from '../../support/typescript-process.js';
import type { Chance } from '../chance.js';
import { SIZE, type WorkerOptions } from './options.js';
import { nowMs, type Report, reportsIn } from './reports.js';

const WORKER = new URL('worker.ts', import.meta.url);
/** A process that ran, and what it has reported. */
export interface Member {
  readonly name: string;
  /** The times in which it was stopped. */
  readonly stops: readonly { readonly fromMs: number; readonly toMs: number }[];
  readonly killedAtMs: number | undefined;
  /** When it got the message to close at once. */
  readonly closedAtMs: number | undefined;
  readonly reports: readonly Report[];
}

interface Running {
  readonly name: string;
  readonly file: string;
  readonly process: TypeScriptProcess;
  readonly stops: { readonly fromMs: number; readonly toMs: number }[];
  killedAtMs?: number;
  closedAtMs?: number;
  isReady: boolean;
  /** Whether a trouble is happening to it. */
  isBusy: boolean;
}

/** The processes of a run. A killed one is replaced. */
export class Crew {
  private readonly all: Running[] = [];
  private readonly starting: Promise<unknown>[] = [];

  private constructor(
    private readonly dir: string,
    private readonly ports: readonly number[],
    private readonly options: Pick<WorkerOptions, 'namespace' | 'times'>,
  ) {}

  /** @param ports of the ways to the server, which the processes share */
  static async start(ports: readonly number[], options: Crew['options']): Promise<Crew> {
    const crew = new Crew(await mkdtemp(join(tmpdir(), 'freq-limit-leases-')), ports, options);
    for (let i = 0; i < SIZE; i++) crew.add();
    await Promise.all(crew.starting);
    return crew;
  }

  get killed(): number {
    return this.all.filter(({ killedAtMs }) => killedAtMs !== undefined).length;
  }

  /** The times of all stops, in milliseconds. */
  get stops(): number[] {
    return this.all.flatMap(({ stops }) => stops.map(({ fromMs, toMs }) => toMs - fromMs));
  }

  /** Kills one of the processes, and starts another one. */
  async kill(chance: Chance): Promise<void> {
    const one = this.take(chance);
    if (one === undefined) return;
    one.process.process.kill('SIGKILL');
    one.killedAtMs = nowMs();
    await one.process.stop();
    this.add();
  }

  /** Stops one of the processes for some time. */
  async stopFor(ms: number, chance: Chance): Promise<void> {
    const one = this.take(chance);
    if (one === undefined) return;
    const fromMs = nowMs();
    one.process.process.kill('SIGSTOP');
    await sleep(ms);
    one.process.process.kill('SIGCONT');
    one.stops.push({ fromMs, toMs: nowMs() });
    one.isBusy = false;
  }

  /** Ends all processes: one half when their work is done, the other half in the middle of it. */
  async end(): Promise<void> {
    await Promise.all(this.starting);
    await Promise.all(this.living().map((one, i) => end(one, i % 2 === 0 ? 'finish' : 'close')));
  }

  members(): Member[] {
    return this.all.map((one) => ({
      name: one.name,
      stops: one.stops,
      killedAtMs: one.killedAtMs,
      closedAtMs: one.closedAtMs,
      reports: reportsIn(one.file),
    }));
  }

  async remove(): Promise<void> {
    await Promise.allSettled(this.starting);
    await Promise.all(this.all.map((one) => one.process.stop()));
    rmSync(this.dir, { recursive: true, force: true });
  }

  private add(): void {
    const name = `p${this.all.length}`;
    const port = this.ports[this.all.length % this.ports.length] ?? 0;
    const file = join(this.dir, `${name}.jsonl`);
    const options: WorkerOptions = { ...this.options, name, port, file };
    const process = startTypeScript(WORKER, [JSON.stringify(options)]);
    const one: Running = { name, file, process, stops: [], isReady: false, isBusy: false };
    this.all.push(one);
    this.starting.push(process.nextMessage().then(() => (one.isReady = true)));
  }

  private living(): Running[] {
    return this.all.filter(({ killedAtMs }) => killedAtMs === undefined);
  }

  /** One that nothing happens to. */
  private take(chance: Chance): Running | undefined {
    const free = this.living().filter(({ isReady, isBusy }) => isReady && !isBusy);
    const one = free[Math.floor(chance() * free.length)];
    if (one !== undefined) one.isBusy = true;
    return one;
  }
}

async function end(one: Running, how: 'finish' | 'close'): Promise<void> {
  if (how === 'close') one.closedAtMs = nowMs();
  one.process.process.send(how);
  await one.process.nextMessage();
}
