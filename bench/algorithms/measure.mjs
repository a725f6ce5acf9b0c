// Everything that run.json says. Needs redis-server on the PATH, and the build.
import { Log } from '../../dist/esm/core/log.js';
import { MemoryStore } from '../../dist/esm/store/memory/memory-store.js';
import { BenchRedis } from '../redis.mjs';
import { edgeAttack, floodShare } from './attack.mjs';
import { memory } from './memory.mjs';
import { run } from './run.mjs';
import { LIMIT, WINDOW_MS } from './traffic.mjs';

export async function measure() {
  const redis = await BenchRedis.start();
  try {
    return {
      date: new Date().toISOString().slice(0, 10),
      redis: await redis.version(),
      windowMs: WINDOW_MS,
      limit: LIMIT,
      attack: edgeAttack(storeInMemory),
      floodShare: floodShare(storeInMemory),
      memory: await memory(redis),
      clients: await run(redis.port),
    };
  } finally {
    await redis.stop();
  }
}

function storeInMemory(clock) {
  return new MemoryStore(1_000, new Log(console), clock, 'store', clock);
}
