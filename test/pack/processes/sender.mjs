// One of several processes on one Redis: sends many requests at once on a signal, and reports the answers.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FreqLimitModule, FreqLimitService } from '../../../dist/esm/index.js';

const [redis, namespace, turns, requestsPerTurn, checks] = process.argv
  .slice(2)
  .map((text) => JSON.parse(text));

class SenderModule {}
Module({ imports: [FreqLimitModule.forRoot({ redis, namespace, timeoutMs: 5_000 })] })(SenderModule);
const app = await NestFactory.createApplicationContext(SenderModule, { logger: ['error', 'warn'] });
const service = app.get(FreqLimitService);
// the connection is open, so all processes begin together
await service.consume({ key: 'warm-up', name: 'warm-up', window: '1h', limit: 1_000 });

process.once('message', async () => {
  const answers = [];
  for (let turn = 0; turn < turns; turn++) {
    const verdicts = await Promise.all(
      Array.from({ length: requestsPerTurn }, () => service.consume(checks)),
    );
    answers.push(...verdicts.map(({ allowed, results }) => [allowed, results.map(({ used }) => used)]));
  }
  process.send(answers, async () => {
    await app.close();
    process.disconnect();
  });
});
process.send('ready');
