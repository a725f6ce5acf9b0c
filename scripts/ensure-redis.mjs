// Before the tests: a Redis must be at hand. Asks nothing of a machine that already has one.
import { execFileSync, spawnSync } from 'node:child_process';

const has = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;
const wish = process.env.REDIS_SERVER ?? '';
if (wish !== '' && !has(wish, '--version')) {
  console.error(
    `REDIS_SERVER is ${wish}, which does not run. Give the path of a redis-server or valkey-server.`,
  );
  process.exit(1);
}
const hasServer = wish !== '' || has('redis-server', '--version') || has('valkey-server', '--version');
const hasDocker = process.env.TEST_REDIS !== 'binary' && has('docker', 'info');
if (process.env.REDIS_URL || hasServer || hasDocker) process.exit(0);

if (!has('apt-get', '--version') || process.getuid() !== 0) {
  console.error(
    'The tests need a real Redis and found none. Set REDIS_URL, start Docker, or put redis-server or valkey-server ' +
      'on the PATH. (On Debian or Ubuntu, run as root, the tests install redis-server themselves.)',
  );
  process.exit(1);
}
console.log('The tests need a real Redis: installing redis-server with apt-get …');
const apt = (...args) =>
  execFileSync('apt-get', args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
apt('update', '-qq');
apt('install', '-y', '-qq', '--no-install-recommends', 'redis-server');
