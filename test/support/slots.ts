import type { INestApplication, INestApplicationContext, Type } from '@nestjs/common';
import { FreqLimitService, type HoldCheck } from 'nestjs-freq-limit';
import { until } from './cluster.js';
import { signal, type Signal } from './signal.js';

/** How many slots of a rule or a check are taken. */
export async function slotsTaken(
  app: INestApplication | INestApplicationContext,
  check: HoldCheck,
): Promise<number> {
  const { results } = await app.get(FreqLimitService).peek(check);
  return results[0]?.used ?? NaN;
}

/** Waits until so many slots are taken. */
export async function untilTaken(
  app: INestApplication | INestApplicationContext,
  check: HoldCheck,
  count: number,
  ms = 5_000,
): Promise<void> {
  let last: number | undefined;
  await until(async () => (last = await slotsTaken(app, check)) === count, ms).catch((error: unknown) => {
    throw new Error(`${last} slots are taken, not ${count}`, { cause: error });
  });
}

/** The check of a handler's rule for the client of a test. */
export function slotsOf(
  controller: Type,
  handler: string,
  rule = 'slots',
  key: string | number = '127.0.0.1',
): HoldCheck {
  return { controller, handler, rule, key };
}

/** Work that goes on until the test ends it. */
export class Work {
  /** How many pieces of work run now. */
  running = 0;
  /** The most that ran at once. */
  most = 0;
  private waiting: Signal[] = [];

  /** Runs until {@link finish}. */
  async run(): Promise<void> {
    const end = signal();
    this.waiting.push(end);
    this.most = Math.max(this.most, ++this.running);
    await end.given;
    this.running--;
  }

  /** Resolves when so many run. */
  untilRunning(count: number): Promise<void> {
    return until(() => this.running === count);
  }

  /** Ends all of them. */
  finish(): void {
    for (const one of this.waiting.splice(0)) one.give();
  }
}
