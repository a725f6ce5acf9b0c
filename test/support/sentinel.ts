import { Redis } from 'ioredis';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './cluster.js';
import { freePort, type Server, serverBinary, startServer } from './server.js';

/** A primary, a replica and three sentinels that fail over within about two seconds. */
export interface TestSentinels {
  readonly name: string;
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly primary: Server;
  readonly replica: Server;
  /** The sentinels' processes, in their order. */
  readonly watchers: readonly ChildProcess[];
  stop(): Promise<void>;
}

export async function startSentinels(args: readonly string[] = []): Promise<TestSentinels> {
  const name = 'counters';
  const quick = ['--repl-diskless-sync-delay', '0', ...args];
  const primary = await startServer(quick);
  const replica = await startServer([...quick, '--replicaof', `127.0.0.1 ${primary.port}`]);
  const watch = new Redis(primary.port, '127.0.0.1');
  await until(async () => (await watch.info('replication')).includes('state=online'));
  watch.disconnect();
  const dir = await mkdtemp(join(tmpdir(), 'freq-limit-sentinel-'));
  const watchers = await Promise.all(
    [0, 1, 2].map((i) => startSentinel(join(dir, `${i}.conf`), name, primary)),
  );
  const [{ port }] = watchers as [Watcher];
  const sentinel = new Redis(port, '127.0.0.1');
  await until(async () => {
    const [peers, replicas] = await Promise.all([
      sentinel.call('SENTINEL', 'sentinels', name) as Promise<unknown[]>,
      sentinel.call('SENTINEL', 'replicas', name) as Promise<unknown[]>,
    ]);
    return peers.length === 2 && replicas.length === 1;
  });
  sentinel.disconnect();
  return {
    name,
    sentinels: watchers.map((watcher) => ({ host: '127.0.0.1', port: watcher.port })),
    primary,
    replica,
    watchers: watchers.map((watcher) => watcher.process),
    stop: async () => {
      await Promise.all(watchers.map((watcher) => watcher.stop()));
      await Promise.all([primary.stop(), replica.stop()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

interface Watcher {
  readonly port: number;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

async function startSentinel(file: string, name: string, { port: primaryPort }: Server): Promise<Watcher> {
  const lines = [
    `sentinel monitor ${name} 127.0.0.1 ${primaryPort} 2`,
    `sentinel down-after-milliseconds ${name} 500`,
    `sentinel failover-timeout ${name} 3000`,
  ];
  await writeFile(file, lines.join('\n'));
  const port = await freePort();
  const child = spawn(serverBinary(), [file, '--sentinel', '--port', String(port), '--bind', '127.0.0.1'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  await monitoring(child);
  return {
    port,
    process: child,
    stop: async () => {
      process.removeListener('exit', killWithUs);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      child.kill('SIGCONT');
      await exited;
    },
  };
}

function monitoring(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-10_000);
      if (log.includes('+monitor')) resolve();
    });
    child.once('exit', () => {
      reject(new Error(`the sentinel does not start: ${log.slice(-500)}`));
    });
  });
}
