import { Redis } from 'ioredis';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RedisConnectionOptions, RedisOption } from 'nestjs-freq-limit';
import { until } from '../support/cluster.js';
import { type Proxy, startProxy } from '../support/proxy.js';
import { startSentinels, type TestSentinels } from '../support/sentinel.js';
import { type Server, startServer } from '../support/server.js';
import type { Troubled } from './troubles.js';
import { startWire, type Wire } from './wire.js';

/** Servers of one test, and how a store reaches them. */
export interface Scene {
  readonly redis: RedisOption;
  /** The server that has the counters at the end. */
  readonly port: number;
  stop(): Promise<void>;
}

/** A server and the network to it, both of which can have faults. */
export interface TroubledServer extends Troubled {
  /** Stops the network, not the server. */
  stop(): Promise<void>;
}

export async function troubledWayTo(server: Server): Promise<TroubledServer> {
  const proxy = await startProxy(server.port);
  const wire = await startWire(proxy.port);
  return {
    proxy,
    wire,
    signal: (name) => void server.process.kill(name),
    command: (name, ...args) => commandTo(server.port, name, ...args),
    stop: async () => {
      await Promise.all([wire.stop(), proxy.stop()]);
    },
  };
}

/** One server, reached through a wire and a proxy, or directly. */
export class LoneServer implements Scene {
  private script: Promise<unknown> | undefined;

  private constructor(
    private server: Server,
    private readonly args: readonly string[],
    private readonly dir: string,
    readonly proxy: Proxy,
    readonly wire: Wire,
  ) {}

  static async start(args: readonly string[] = []): Promise<LoneServer> {
    const dir = await mkdtemp(join(tmpdir(), 'freq-limit-fault-'));
    // its saved data survives a restart
    const all = [...args, '--dir', dir];
    const server = await startServer(all);
    const proxy = await startProxy(server.port);
    return new LoneServer(server, all, dir, proxy, await startWire(proxy.port));
  }

  get port(): number {
    return this.server.port;
  }

  /** Through the wire, so that all network faults are possible; the proxy of a dead server would still accept connections. */
  get redis(): RedisConnectionOptions {
    return { host: '127.0.0.1', port: this.wire.port };
  }

  get direct(): RedisConnectionOptions {
    return { host: '127.0.0.1', port: this.port };
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.server.process.kill(name);
  }

  kill(): Promise<void> {
    return killed(this.server);
  }

  async restart(): Promise<void> {
    this.server = await startServer(this.args, this.port);
  }

  /** Sends a command directly to the server. */
  command(name: string, ...args: (string | number)[]): Promise<unknown> {
    return commandTo(this.port, name, ...args);
  }

  /** Starts a script that blocks the server. */
  run(script: string): void {
    this.script = this.command('EVAL', script, 0);
  }

  /** Waits for the end of the script. */
  async hasRun(): Promise<void> {
    await this.script;
  }

  async stop(): Promise<void> {
    await Promise.all([this.wire.stop(), this.proxy.stop(), this.server.stop()]);
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** A primary and its replica, watched by sentinels; the replica takes over. */
export class WatchedPair implements Scene {
  private constructor(private readonly pair: TestSentinels) {}

  static async start(): Promise<WatchedPair> {
    return new WatchedPair(await startSentinels());
  }

  get redis(): RedisOption {
    return { sentinels: this.pair.sentinels, name: this.pair.name };
  }

  get port(): number {
    return this.pair.replica.port;
  }

  killPrimary(): Promise<void> {
    return killed(this.pair.primary);
  }

  /** It hangs until the scene ends. */
  hangPrimary(): void {
    this.pair.primary.process.kill('SIGSTOP');
  }

  async failOver(): Promise<void> {
    await this.askSentinel('FAILOVER');
  }

  /** Waits until the sentinels name the replica. */
  async hasChanged(): Promise<void> {
    await until(async () => {
      const [, port] = (await this.askSentinel('GET-MASTER-ADDR-BY-NAME')) as string[];
      return Number(port) === this.port;
    });
  }

  private askSentinel(question: string): Promise<unknown> {
    return commandTo(this.pair.sentinels[0]!.port, 'SENTINEL', question, this.pair.name);
  }

  stop(): Promise<void> {
    return this.pair.stop();
  }
}

async function commandTo(port: number, name: string, ...args: (string | number)[]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1');
  try {
    return await client.call(name, ...args);
  } finally {
    client.disconnect();
  }
}

async function killed(server: Server): Promise<void> {
  const exited = once(server.process, 'exit');
  server.process.kill('SIGKILL');
  await exited;
  await server.stop();
}
