import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A Redis process of one test, which may stop, hang and restart it. */
export interface Server {
  readonly port: number;
  readonly url: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** The program of the server: REDIS_SERVER, or else the first of redis-server and valkey-server that runs. */
export function serverBinary(): string {
  const { REDIS_SERVER: wish = '' } = process.env;
  const names = wish === '' ? ['redis-server', 'valkey-server'] : [wish];
  const binary = names.find((name) => versionOf(name) !== undefined);
  if (binary !== undefined) return binary;
  throw new Error(
    wish === ''
      ? 'neither redis-server nor valkey-server is on the PATH'
      : `REDIS_SERVER is ${wish}, which does not run: it must be a redis-server or valkey-server`,
  );
}

/** The version line of a server's program, as "Valkey server v=9.1.2"; `undefined` if it does not run. */
export function versionOf(binary: string): string | undefined {
  const { status, stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  return status === 0 ? /^.*?v=\S+/.exec(stdout)?.[0] : undefined;
}

/** Starts a server on loopback and resolves when it accepts connections. Retries with another port if one is taken. */
export async function startServer(args: readonly string[] = [], wantedPort?: number): Promise<Server> {
  const binary = serverBinary();
  for (let attempt = 1; ; attempt++) {
    const port = wantedPort ?? (await freePort());
    const dir = await mkdtemp(join(tmpdir(), 'freq-limit-redis-'));
    const base = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      dir,
      '--save',
      '',
      '--appendonly',
      'no',
    ];
    const child = spawn(binary, [...base, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
    const killWithUs = (): void => void child.kill('SIGKILL');
    process.once('exit', killWithUs);
    const stop = async (): Promise<void> => {
      process.removeListener('exit', killWithUs);
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        child.kill('SIGCONT');
        await exited;
      }
      await rm(dir, { recursive: true, force: true });
    };
    if (await isReady(child)) return { port, url: `redis://127.0.0.1:${port}`, process: child, stop };
    await stop();
    if (wantedPort !== undefined || attempt === 5)
      throw new Error(`${binary} does not start on port ${port}`);
  }
}

function isReady(child: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    let log = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-10_000);
      if (log.includes('Ready to accept connections')) resolve(true);
    });
    child.once('exit', () => {
      resolve(false);
    });
  });
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

/** A host name that does not exist. It is not even valid, so that this is found out without a DNS server. */
export const UNKNOWN_HOST = 'redis..invalid';
