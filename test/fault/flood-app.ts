// An application under a flood, in its own process. It counts how often the handler of each policy runs.
import 'reflect-metadata';
import { applyDecorators, Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { OnStoreError } from '../../src/core/check.js';
import { FreqLimit, FreqLimitModule, type FreqLimitRule } from 'nestjs-freq-limit';
import { endWithParent } from '../support/typescript-process.js';
import { type AppReport, LIMIT } from './flood.js';

endWithParent();
const [platform, redisPort, namespace = ''] = process.argv.slice(2);
const runs: Record<OnStoreError, number> = { memory: 0, allow: 0, deny: 0 };
const lines: string[] = [];
const note = (line: unknown): void => void lines.push(String(line));

/** The rules of each policy: together all kinds of counters. */
const RULES: Readonly<Record<OnStoreError, readonly FreqLimitRule[]>> = {
  memory: [{ window: '10m', limit: LIMIT }],
  allow: [
    { window: '10m', limit: LIMIT, algorithm: 'sliding-window' },
    { window: { calendar: 'year' }, limit: LIMIT },
  ],
  deny: [
    { window: '10m', limit: LIMIT, blockFor: ['1h', '2h'] },
    // not one unit refills during a flood
    { window: '1d', limit: LIMIT, algorithm: 'token-bucket' },
  ],
};

function limitOf(onStoreError: OnStoreError): MethodDecorator {
  return applyDecorators(...RULES[onStoreError].map((rule) => FreqLimit({ ...rule, onStoreError })));
}

@Controller('code')
class CodeController {
  @Post('memory')
  @HttpCode(200)
  @limitOf('memory')
  memory(@Body() body: { phone: string }) {
    return this.send('memory', body);
  }

  @Post('allow')
  @HttpCode(200)
  @limitOf('allow')
  allow(@Body() body: { phone: string }) {
    return this.send('allow', body);
  }

  @Post('deny')
  @HttpCode(200)
  @limitOf('deny')
  deny(@Body() body: { phone: string }) {
    return this.send('deny', body);
  }

  private send(policy: OnStoreError, { phone }: { phone: string }) {
    runs[policy]++;
    return { phone };
  }
}

@Module({
  imports: [FreqLimitModule.forRoot({ redis: `redis://127.0.0.1:${redisPort}`, namespace })],
  controllers: [CodeController],
})
class AppModule {}

const logger = { log: () => undefined, warn: note, error: note };
const adapter = platform === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
const app = await NestFactory.create<NestFastifyApplication>(AppModule, adapter as FastifyAdapter, {
  logger,
});
await app.listen(0, '127.0.0.1');
const delays = monitorEventLoopDelay({ resolution: 10 });
delays.enable();
process.on('message', () => {
  process.send?.({ runs, lines, stallMs: Math.round(delays.max / 1e6) } satisfies AppReport);
});
process.send?.((app.getHttpServer().address() as { port: number }).port);
