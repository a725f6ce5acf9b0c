import { Redis } from 'ioredis';
import { readFileSync } from 'node:fs';
import { loadIoredis } from '../../../../src/store/redis/load-ioredis.js';

const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>;
};
const INSTALL = `npm install "ioredis@${peerDependencies['ioredis']!}"`;

const failing = (message: string, code?: string) => () =>
  Promise.reject(Object.assign(new Error(message), { code }));

describe('loadIoredis', () => {
  it('loads the installed package', async () => {
    expect((await loadIoredis()).Redis).toBe(Redis);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'missing for an ES module',
      failing("Cannot find package 'ioredis' imported from /app/connect.js", 'ERR_MODULE_NOT_FOUND'),
      `the package ioredis is not installed; run ${INSTALL}`,
    ],
    [
      'missing for CommonJS',
      failing("Cannot find module 'ioredis'\nRequire stack:\n- /app/connect.js", 'MODULE_NOT_FOUND'),
      `the package ioredis is not installed; run ${INSTALL}`,
    ],
    [
      'incomplete',
      failing(
        "Cannot find module 'denque'\nRequire stack:\n- /app/node_modules/ioredis/index.js",
        'MODULE_NOT_FOUND',
      ),
      `the package ioredis cannot be loaded: Cannot find module 'denque'\\nRequire stack:\\n- /app/node_modules/ioredis/index.js. Install it again: ${INSTALL}`,
    ],
    [
      'broken',
      failing('Unexpected token'),
      `the package ioredis cannot be loaded: Unexpected token. Install it again: ${INSTALL}`,
    ],
    [
      'of version 4, which exports no Redis',
      () => Promise.resolve({ default: Redis, Cluster: class {} }),
      `the installed package ioredis has no class Redis, so it is too old; run ${INSTALL}`,
    ],
  ])('says what to do if it is %s', async (_, load, message) => {
    await expect(loadIoredis(load)).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_OPTIONS',
      message: `FreqLimitModule: redis: ${message}`,
    });
  });
});
