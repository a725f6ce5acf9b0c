import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { Cluster as Cluster54, Redis as Redis54 } from 'ioredis54';
import { FreqLimitModule, type FreqLimitOptions, FreqLimitService } from 'nestjs-freq-limit';
import { report } from './requests.js';

const url = process.env['LIMITS_REDIS_URL'] ?? '';
const nodes = (process.env['LIMITS_CLUSTER'] ?? '').split(' ');
const namespace = process.env['LIMITS_NAMESPACE'] ?? '';
const PEOPLE = 30;

@Module({})
class AppModule {}

export function fromOptions(ofServer: RedisOptions, ofCluster: ClusterOptions): FreqLimitOptions[] {
  return [{ redis: ofServer }, { redis: { cluster: nodes, options: ofCluster } }];
}

type Client = Redis | Cluster | Redis54 | Cluster54;
const kinds: Record<string, (enableAutoPipelining: boolean) => FreqLimitOptions['redis']> = {
  'a client of one server': (enableAutoPipelining) => new Redis(url, { enableAutoPipelining }),
  'one of 5.4.1': (enableAutoPipelining) => new Redis54(url, { enableAutoPipelining }),
  'a Cluster': (enableAutoPipelining) => new Cluster(nodes, { enableAutoPipelining }),
  'one of 5.4.1 too': (enableAutoPipelining) => new Cluster54(nodes, { enableAutoPipelining }),
  'options of one server': (enableAutoPipelining) => ({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    enableAutoPipelining,
  }),
  'options of a Cluster': (enableAutoPipelining) => ({ cluster: nodes, options: { enableAutoPipelining } }),
};

/** Many people at once, each twice with a limit of one, on counters that lie on every server of a Cluster. */
async function limitedBy(redis: FreqLimitOptions['redis'], name: string): Promise<unknown> {
  const options: FreqLimitOptions = { redis, namespace: `${namespace}:${name}`, timeoutMs: 5_000 };
  const module = { module: AppModule, imports: [FreqLimitModule.forRoot(options)] };
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  const limits = app.get(FreqLimitService);
  const all = Array.from(
    { length: PEOPLE },
    (_, i) => ({ key: `person-${i}`, window: '1m', limit: 1 }) as const,
  );
  const first = await Promise.all(all.map((check) => limits.consume(check)));
  const second = await Promise.all(all.map((check) => limits.consume(check)));
  await Promise.all(all.map((check) => limits.reset(check)));
  const third = await Promise.all(all.map((check) => limits.consume(check)));
  const { isUp } = limits.health();
  await app.close();
  return {
    allowed: [first, second, third].map((verdicts) => verdicts.filter(({ allowed }) => allowed).length),
    sources: [...new Set([...first, ...second, ...third].map(({ source }) => source))],
    isUp,
  };
}

report(async () => {
  const answers: Record<string, unknown> = {};
  let i = 0;
  for (const [kind, make] of Object.entries(kinds)) {
    for (const enableAutoPipelining of [false, true]) {
      const redis = make(enableAutoPipelining);
      const name = enableAutoPipelining ? `${kind}, auto-pipelining` : kind;
      answers[name] = await limitedBy(redis, String(i++));
      if (!kind.startsWith('options')) await (redis as Client).quit();
    }
  }
  return answers;
});
