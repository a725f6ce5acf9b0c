import { Redis as Redis5 } from 'ioredis5';
import { controllerWith, moduleOf, ROOMY } from './decorate.mjs';

// few requests of a turn pass; the tables show how many were denied
const DENYING = { window: '1s', limit: 20 };

/** More than are ever in flight. */
const MAX_CONCURRENCY = 10_000;

// several applications are in one process, and none counts with another's counters
let applications = 0;

/** What the module sets on a connection of its own, for a client that is handed in. */
const LIKE_OWN = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  commandTimeout: 250,
};

/** A request costs less than was estimated. */
const SETTLED = { cost: 100, actualCost: () => 90 };

/**
 * @param options `settled`: each limit is charged an estimate, and settled after the handler; `leases`: how many rules limit the
 * requests at the same time
 */
export async function ours(options, redisPort) {
  const { limits, store, ioredis, denied, key = '{ip}', coalesce, before, settled, leases = 0 } = options;
  const { FreqLimit, FreqLimitModule } = await import(
    before ? 'nestjs-freq-limit-before' : 'nestjs-freq-limit'
  );
  const rules = Array.from({ length: limits }, (_, i) =>
    FreqLimit({ window: `${i + 1}h`, limit: ROOMY, key, ...(settled && SETTLED) }),
  );
  if (denied) rules[rules.length - 1] = FreqLimit({ ...DENYING, key });
  for (let i = 0; i < leases; i++)
    rules.push(FreqLimit({ name: `lease-${i}`, concurrency: MAX_CONCURRENCY, key }));
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
