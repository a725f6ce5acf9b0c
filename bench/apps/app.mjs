// Applications in a process of their own, each on its own port: node app.mjs '{ platform, redisPort, variants }', a variant
// is { kind, options }. Tells its parent the ports, then answers its messages; ends when the parent disconnects.
import 'reflect-metadata';
import { Session } from 'node:inspector/promises';
import { PerformanceObserver } from 'node:perf_hooks';
import { NestFactory } from '@nestjs/core';

// longer than any pause between two turns: the sender keeps its connections open
const KEEP_ALIVE_MS = 600_000;
// the smaller, the more exact and the slower
const BYTES_PER_SAMPLE = 4096;
// between two samples of a profile
const PROFILE_US = 200;

const { platform, redisPort, variants } = JSON.parse(process.argv[2]);
const ports = [];
for (const variant of variants) ports.push(await start(variant));

let gcMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) gcMs += duration;
}).observe({ entryTypes: ['gc'] });

let inspector;
const ANSWERS = {
  usage() {
    const { user, system } = process.cpuUsage();
    return { cpuUs: user + system, gcUs: gcMs * 1000 };
  },
  async startProfile() {
    await post('Profiler.enable');
    await post('Profiler.setSamplingInterval', { interval: PROFILE_US });
    await post('Profiler.start');
  },
  async stopProfile() {
    return (await post('Profiler.stop')).profile;
  },
  async startAllocations() {
    await post('HeapProfiler.startSampling', {
      samplingInterval: BYTES_PER_SAMPLE,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
  },
  /** Bytes allocated since, dead or alive. */
  async stopAllocations() {
    const { profile } = await post('HeapProfiler.stopSampling');
    return profile.samples.reduce((sum, { size }) => sum + size, 0);
  },
};

process.on('message', async (question) => process.send({ answer: await ANSWERS[question]() }));
process.on('disconnect', () => process.exit());
process.send({ ports });

/** To the inspector of this process, which is connected with only when it is needed. */
function post(method, options) {
  if (inspector === undefined) {
    inspector = new Session();
    inspector.connect();
  }
  return inspector.post(method, options);
}

/** @returns the port of the application */
async function start({ kind, options }) {
  // a kind is a file, or a function of a file: guards.empty
  const [file, exported = file] = kind.split('.');
  const { [exported]: moduleFor } = await import(`./${file}.mjs`);
  const app = await NestFactory.create(await moduleFor(options, redisPort), await adapter(platform), {
    logger: ['error', 'warn'],
  });
  await app.listen(0, '127.0.0.1');
  const server = app.getHttpServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return server.address().port;
}

async function adapter(name) {
  if (name === 'express') {
    const { ExpressAdapter } = await import('@nestjs/platform-express');
    return new ExpressAdapter();
  }
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  return new FastifyAdapter();
}
