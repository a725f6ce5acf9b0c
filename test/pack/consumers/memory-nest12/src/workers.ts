import 'reflect-metadata';
import { type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FreqLimitModule } from 'nestjs-freq-limit';
import cluster from 'node:cluster';
import { adapter } from './adapter.js';
import { report } from './requests.js';

@Module({ imports: [FreqLimitModule.forRoot()] })
class AppModule {}

/** Starts the application in a worker, and sends what it says to the primary. */
async function work(): Promise<void> {
  const lines: unknown[] = [];
  const logger: LoggerService = {
    log: () => undefined,
    warn: (line: unknown) => lines.push(line),
    error: (line: unknown) => lines.push(line),
  };
  const app = await NestFactory.create(AppModule, adapter(), { logger });
  await app.init();
  await app.close();
  process.send?.(lines, () => process.disconnect());
}

if (cluster.isWorker) void work();
else
  report(() =>
    Promise.all(
      [cluster.fork(), cluster.fork()].map(
        (worker) => new Promise((resolve) => worker.once('message', resolve)),
      ),
    ),
  );
