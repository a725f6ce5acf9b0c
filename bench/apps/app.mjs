// One application in a process of its own: node app.mjs '{ kind, options, platform, redisPort }'.
// Tells its parent its port, then answers its messages; ends when the parent disconnects.
import 'reflect-metadata';
import { Session } from 'node:inspector/promises';
import { PerformanceObserver } from 'node:perf_hooks';
import { NestFactory } from '@nestjs/core';

const { kind, options, platform, redisPort } = JSON.parse(process.argv[2]);
// a kind is a file, or a function of a file: guards.empty
const [file, exported = file] = kind.split('.');
const { [exported]: moduleFor } = await import(`./${file}.mjs`);
const app = await NestFactory.create(await moduleFor(options, redisPort), await adapter(platform), {
  logger: ['error', 'warn'],
});
await app.listen(0, '127.0.0.1');

let gcMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) gcMs += duration;
}).observe({ entryTypes: ['gc'] });

const inspector = new Session();
const ANSWERS = {
  cpuUs() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  gcUs() {
    return gcMs * 1000;
  },
  async startProfile() {
    inspector.connect();
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.start');
  },
  async stopProfile() {
    return (await inspector.post('Profiler.stop')).profile;
  },
};

process.on('message', async (question) => process.send({ answer: await ANSWERS[question]() }));
process.on('disconnect', () => process.exit());
process.send({ port: app.getHttpServer().address().port });

async function adapter(name) {
  if (name === 'express') {
    const { ExpressAdapter } = await import('@nestjs/platform-express');
    return new ExpressAdapter();
  }
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  return new FastifyAdapter();
}
