import 'reflect-metadata';
import { Controller, type DynamicModule, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import {
  Cluster as Cluster511,
  type ClusterOptions as ClusterOptions511,
  Redis as Redis511,
  type RedisOptions as RedisOptions511,
} from 'ioredis511';
import {
  Cluster as Cluster54,
  type ClusterOptions as ClusterOptions54,
  Redis as Redis54,
  type RedisOptions as RedisOptions54,
} from 'ioredis54';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions } from 'nestjs-freq-limit';
import { adapter } from './adapter.js';
import { report } from './requests.js';

const url = process.env['LIMITS_REDIS_URL'] ?? '';
const namespace = process.env['LIMITS_NAMESPACE'] ?? '';

@Controller()
class PingController {
  @Get()
  @FreqLimit('1m', 1, 'all:everybody')
  ping(): string {
    return 'pong';
  }
}

@Module({})
class AppModule {}

// every one of these is accepted without a cast
const six = new Redis(url);
const five11 = new Redis511(url);
const five4 = new Redis54(url);
const modules: Record<string, DynamicModule> = {
  six: FreqLimitModule.forRoot({ redis: six, namespace: `${namespace}:six`, timeoutMs: 5_000 }),
  five11: FreqLimitModule.forRoot({ redis: five11, namespace: `${namespace}:five11`, timeoutMs: 5_000 }),
  five4: FreqLimitModule.forRootAsync({
    useFactory: () => ({ redis: five4, namespace: `${namespace}:five4`, timeoutMs: 5_000 }),
  }),
};

export const clusters: ((nodes: string[]) => FreqLimitOptions)[] = [
  (nodes) => ({ redis: new Cluster(nodes) }),
  (nodes) => ({ redis: new Cluster511(nodes) }),
  (nodes) => ({ redis: new Cluster54(nodes) }),
];

export function fromOptions(
  ofServer: RedisOptions | RedisOptions511 | RedisOptions54,
  ofCluster: ClusterOptions | ClusterOptions511 | ClusterOptions54,
): FreqLimitOptions[] {
  return [{ redis: ofServer }, { redis: { cluster: [{ host: 'a' }], options: ofCluster } }];
}

report(async () => {
  const answers: Record<string, unknown> = {};
  for (const [name, client] of Object.entries({ six, five11, five4 })) {
    const module = {
      module: AppModule,
      imports: [modules[name] as DynamicModule],
      controllers: [PingController],
    };
    const app = await NestFactory.create(module, adapter(), { logger: ['error'] });
    await app.listen(0, '127.0.0.1');
    const statuses: number[] = [];
    for (let i = 0; i < 2; i++) statuses.push((await fetch(await app.getUrl())).status);
    await app.close();
    answers[name] = { statuses, status: client.status, answer: await client.ping() };
    await client.quit();
  }
  return answers;
});
