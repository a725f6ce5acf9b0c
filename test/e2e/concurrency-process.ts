import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FreqLimitModule, FreqLimitService, type FreqLimitOptions, type HoldCheck } from 'nestjs-freq-limit';
import { LEASE_TIMES } from '../../src/core/leases.js';

/** Holds slots until it ends. The message `close` shuts it down, and a number blocks it for so many milliseconds. */
interface Task {
  readonly limits: FreqLimitOptions;
  readonly check: HoldCheck;
  readonly holds: number;
  readonly times?: Partial<typeof LEASE_TIMES>;
}

const task = JSON.parse(process.argv[2] ?? '{}') as Task;
Object.assign(LEASE_TIMES, task.times);

@Module({ imports: [FreqLimitModule.forRoot(task.limits)] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const limits = app.get(FreqLimitService);
let started = 0;
for (let i = 0; i < task.holds; i++) {
  void limits.hold(task.check, async ({ signal }) => {
    signal.addEventListener('abort', () => process.send?.('aborted'));
    if (++started === task.holds) process.send?.('holds');
    await new Promise(() => undefined);
  });
}
process.on('message', (message) => {
  if (message === 'close') void app.close().then(() => process.disconnect());
  if (typeof message === 'number') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message);
});
process.once('disconnect', () => process.exit(0));
