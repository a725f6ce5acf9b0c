import { Redis as Redis5 } from 'ioredis5';
import { controllerWith, moduleOf, ROOMY } from './decorate.mjs';

// few requests of a turn pass; the tables show how many were denied
const DENYING = { window: '1s', limit: 20 };

// several applications are in one process, and none counts with another's counters
let applications = 0;

/** What the module sets on a connection of its own, for a client that is handed in. */
const LIKE_OWN = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  commandTimeout: 250,
};

export async function ours({ limits, store, ioredis, denied, key = '{ip}', coalesce, before }, redisPort) {
  const { FreqLimit, FreqLimitModule } = await import(
    before ? 'nestjs-freq-limit-before' : 'nestjs-freq-limit'
  );
  const rules = Array.from({ length: limits }, (_, i) =>
    FreqLimit({ window: `${i + 1}h`, limit: ROOMY, key }),
  );
  if (denied) rules[rules.length - 1] = FreqLimit({ ...DENYING, key });
  const redis = store === 'redis' ? connection(ioredis, redisPort) : undefined;
  return moduleOf({
    imports: [
      FreqLimitModule.forRoot({
        ...(redis && { redis }),
        ...(coalesce === undefined ? {} : { coalesce }),
        namespace: `bench-${process.pid}-${applications++}`,
      }),
    ],
    controllers: [controllerWith(...rules)],
  });
}

function connection(ioredis, port) {
  return ioredis === 5 ? new Redis5({ port, ...LIKE_OWN }) : `redis://127.0.0.1:${port}`;
}
