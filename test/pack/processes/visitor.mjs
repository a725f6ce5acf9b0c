// One of several processes on one Redis: asks for many visits at once when told to, and tells what it was answered.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FreqLimitModule, FreqLimitService } from '../../../dist/esm/index.js';

const [redis, namespace, turns, visitsPerTurn, checks] = process.argv
  .slice(2)
  .map((text) => JSON.parse(text));

class VisitorModule {}
Module({ imports: [FreqLimitModule.forRoot({ redis, namespace, timeoutMs: 5_000 })] })(VisitorModule);
const app = await NestFactory.createApplicationContext(VisitorModule, { logger: ['error', 'warn'] });
const service = app.get(FreqLimitService);
// the connection is there, so that all processes begin together
await service.consume({ key: 'warm-up', name: 'warm-up', window: '1h', limit: 1_000 });

process.once('message', async () => {
  const answers = [];
  for (let turn = 0; turn < turns; turn++) {
    const verdicts = await Promise.all(Array.from({ length: visitsPerTurn }, () => service.consume(checks)));
    answers.push(...verdicts.map(({ allowed, results }) => [allowed, results.map(({ used }) => used)]));
  }
  process.send(answers, async () => {
    await app.close();
    process.disconnect();
  });
});
process.send('ready');
