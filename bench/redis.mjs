// The benchmark's own redis-server, and what it says of its work.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

export class BenchRedis {
  static async start() {
    const port = await freePort();
    const dir = mkdtempSync(join(tmpdir(), 'freq-limit-bench-'));
    const flags = { port, dir, bind: '127.0.0.1', save: '', appendonly: 'no', loglevel: 'warning' };
    const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
    const server = spawn('redis-server', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    // whatever ends the benchmark
    process.once('exit', () => server.kill());
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
    const failed = once(server, 'error').then(([error]) => {
      throw new Error('the benchmark needs redis-server on the PATH', { cause: error });
    });
    const control = new Redis({ port, retryStrategy: () => 50, maxRetriesPerRequest: null });
    control.on('error', () => undefined); // until the server is up
    await Promise.race([control.ping(), failed]);
    failed.catch(() => undefined);
    return new BenchRedis(port, dir, server, control);
  }

  constructor(port, dir, server, control) {
    Object.assign(this, { port, dir, server, control });
  }

  /**
   * Microseconds of CPU, script calls and the microseconds in them, and bytes on the network so far. All limiters compared here
   * ask by scripts alone.
   */
  async work() {
    const [cpu, commands, stats] = await Promise.all(
      ['cpu', 'commandstats', 'stats'].map((section) => this.control.info(section)),
    );
    const user = field(cpu, 'used_cpu_user');
    const system = field(cpu, 'used_cpu_sys');
    const bytes = field(stats, 'total_net_input_bytes') + field(stats, 'total_net_output_bytes');
    return { cpuUs: (user + system) * 1e6, ...scriptsOf(commands), bytes };
  }

  async usedMemory() {
    return field(await this.control.info('memory'), 'used_memory');
  }

  async version() {
    return /^redis_version:(.*)\r$/m.exec(await this.control.info('server'))[1];
  }

  async stop() {
    this.control.disconnect();
    const ended = this.server.exitCode === null ? once(this.server, 'exit') : undefined;
    this.server.kill();
    await ended;
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function field(info, name) {
  return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)[1]);
}

function scriptsOf(stats) {
  let calls = 0;
  let scriptUs = 0;
  for (const [, count, us] of stats.matchAll(/^cmdstat_(?:evalsha|eval):calls=(\d+),usec=(\d+)/gm)) {
    calls += Number(count);
    scriptUs += Number(us);
  }
  return { calls, scriptUs };
}

export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
