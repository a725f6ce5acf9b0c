// One of several processes that take leases and settle costs, until it gets a message to end, or is killed.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimitModule, FreqLimitService, isFreqLimitError } from 'nestjs-freq-limit';
import { LEASE_TIMES } from '../../../src/core/leases.js';
import { endWithParent } from '../../support/typescript-process.js';
import { Holder } from './holder.js';
import { SHARE_OF_FALLBACK, type WorkerOptions } from './options.js';
import { recordCalls } from './recorder.js';
import { reporterTo } from './reports.js';
import { Settler } from './settler.js';

/** Tasks of a process that run at the same time. */
const HOLDERS = 4;
const SETTLERS = 2;
/** The wait after a failure of the store. */
const PAUSE_MS = 50;

endWithParent();
const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
Object.assign(LEASE_TIMES, options.times);
const report = reporterTo(options.file);
recordCalls(report);

@Module({
  imports: [
    FreqLimitModule.forRoot({
      redis: `redis://127.0.0.1:${options.port}`,
      namespace: options.namespace,
      fallbackShare: SHARE_OF_FALLBACK,
    }),
  ],
})
class WorkerModule {}

const logger = { log: () => undefined, warn: () => undefined, error: () => undefined };
const app = await NestFactory.createApplicationContext(WorkerModule, { logger });
const limits = app.get(FreqLimitService);
const ending = new AbortController();
const tasks = [
  ...Array.from({ length: HOLDERS }, () => repeat(new Holder(limits, report, options.times.lifeMs))),
  ...Array.from({ length: SETTLERS }, (_, i) => repeat(new Settler(limits, report, `${options.name}-${i}`))),
];

process.on('message', (message) => void end(message as 'finish' | 'close'));
process.send?.('ready');

async function repeat(task: { once(): Promise<void> }): Promise<void> {
  while (!ending.signal.aborted) {
    try {
      await task.once();
    } catch (error) {
      if (!isFreqLimitError(error) || error.code !== 'FREQ_LIMIT_STORE_FAILED')
        report({
          what: 'error',
          text: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
      await sleep(PAUSE_MS);
    }
  }
}

/** `finish`: after its tasks have ended; `close`: at once, as an application does that is stopped. */
async function end(how: 'finish' | 'close'): Promise<void> {
  ending.abort();
  if (how === 'finish') await Promise.all(tasks);
  await app.close();
  process.send?.('ended', () => process.exit());
}
