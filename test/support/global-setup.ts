import { startTestRedis, type TestRedis } from './test-redis.ts';

declare global {
  var testRedis: TestRedis | undefined;
}

export default async function setup(): Promise<void> {
  globalThis.testRedis = await startTestRedis();
  process.env['TEST_REDIS_URL'] = globalThis.testRedis.url;
  process.stdout.write(`Redis for the tests: ${globalThis.testRedis.from}\n`);
}
