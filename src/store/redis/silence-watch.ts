import { listeningClock, type Waiting } from './listening-clock.js';

/** The parts of an ioredis 5 or 6 client that are watched. */
export interface WatchedClient {
  readonly status: string;
  readonly stream?: WatchedStream | undefined;
  /** Commands that were sent and have no answer yet. */
  readonly commandQueue?: { readonly length: number } | undefined;
  readonly options: TimerOptions;
  on(event: 'connecting', listener: () => void): unknown;
}

interface WatchedStream {
  readonly destroyed: boolean;
  readonly bytesRead: number;
  destroy(error: Error): unknown;
  setTimeout?(ms: number): unknown;
}

interface TimerOptions {
  socketTimeout?: unknown;
  commandTimeout?: unknown;
  readonly connectTimeout?: unknown;
}

/** How many milliseconds a server may take. Time in which the process itself was blocked does not count. */
interface Patience {
  /** To connect. */
  readonly connecting: number;
  /** To answer the commands that the client sends when it has connected. */
  readonly connect: number;
  /** To send anything while commands wait. */
  readonly ready: number;
}

/**
 * Closes a silent connection, so that ioredis looks for the primary again.
 *
 * It replaces ioredis' `socketTimeout`, `commandTimeout` and `connectTimeout`. Those are timers that run before the sockets
 * are read: after the process was blocked they close a connection whose answer has already arrived.
 */
export class SilenceWatch implements Waiting {
  waitIndex = -1;
  private readonly patience: Patience;
  private stream: WatchedStream | undefined;
  private bytesRead = 0;
  private heardAtMs = 0;

  constructor(
    private readonly client: WatchedClient,
    timeoutMs: number,
  ) {
    this.patience = takeOver(client.options, timeoutMs);
    client.on('connecting', () => {
      this.start();
    });
  }

  /** Watches until the client has no more commands waiting. */
  start(): void {
    this.stream = undefined;
    listeningClock.add(this);
  }

  onTick(nowMs: number): number | undefined {
    const { status, stream } = this.client;
    if (status !== 'connecting' && status !== 'connect' && status !== 'ready') return undefined;
    if (status === 'ready' && !this.hasCommands) return undefined;
    const ms = this.patience[status];
    // there is no new stream yet, for example while sentinels are queried
    if (stream === undefined || stream.destroyed) return ms;
    if (this.isHeard(stream)) this.note(stream, nowMs);
    const leftMs = this.heardAtMs + ms - nowMs;
    if (leftMs > 0) return leftMs;
    stream.destroy(new Error(`the server sent nothing for ${ms} ms`));
    return undefined;
  }

  private get hasCommands(): boolean {
    return (this.client.commandQueue?.length ?? 0) > 0;
  }

  /** Whether the server has sent something since the last tick, or need not send anything, as while it loads its data. */
  private isHeard(stream: WatchedStream): boolean {
    if (stream !== this.stream || stream.bytesRead !== this.bytesRead) return true;
    return this.client.status === 'connect' && !this.hasCommands;
  }

  private note(stream: WatchedStream, nowMs: number): void {
    this.stream = stream;
    this.bytesRead = stream.bytesRead;
    this.heardAtMs = nowMs;
    // disables ioredis' own connect timer, which would run before the socket is read
    if (this.client.status === 'connecting') stream.setTimeout?.(0);
  }
}

/** Removes the timers from a client's options. `connectTimeout` stays, for the connections to sentinels. */
function takeOver(options: TimerOptions, timeoutMs: number): Patience {
  const { socketTimeout, commandTimeout, connectTimeout } = options;
  delete options.socketTimeout;
  delete options.commandTimeout;
  return {
    connecting: givenMs(connectTimeout) ?? 1_000,
    connect: givenMs(commandTimeout) ?? Math.max(1_000, 2 * timeoutMs),
    ready: givenMs(socketTimeout) ?? Math.max(500, 2 * timeoutMs),
  };
}

function givenMs(option: unknown): number | undefined {
  return typeof option === 'number' && option > 0 ? option : undefined;
}
