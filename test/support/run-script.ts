import type { Redis } from 'ioredis';
import { unpackArray } from '../../src/store/redis/message-pack.js';
import { Script } from '../../src/store/redis/script.js';

/** Runs a script by its text, and reads its reply like the store. */
export async function runScript(
  client: Redis,
  source: string,
  keys: readonly string[],
  args: readonly (string | number)[] = [],
): Promise<(number | string)[]> {
  return unpackArray(await new Script(source).runWhole(client, keys, args.map(String)));
}
