import timers from 'node:timers';

// taken from the module at load time, so that a test's fake timers cannot keep it from connecting
const { setTimeout, clearTimeout } = timers;

/** The part of ioredis' `Redis` that is used here. */
export interface RevivableClient {
  connect(): Promise<unknown>;
  on(event: 'connecting' | 'close' | 'end', listener: () => void): unknown;
}

const PAUSE_MS = 50;

/**
 * Connects a client again after ioredis has given up by mistake.
 *
 * If a failover is announced while ioredis queries a sentinel for the primary, its connector stops and the client ends: it
 * never retries, and every later call fails. This `end` event follows `connecting`; an `end` caused by `retryStrategy` or
 * `disconnect()` follows `close`.
 * @returns a function that stops it
 */
export function reviveAfterBrokenLookUp(client: RevivableClient): () => void {
  let isConnecting = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  client.on('connecting', () => {
    isConnecting = true;
  });
  client.on('close', () => {
    isConnecting = false;
  });
  client.on('end', () => {
    if (!isConnecting || isStopped) return;
    isConnecting = false;
    timer = setTimeout(() => {
      client.connect().catch(() => undefined);
    }, PAUSE_MS);
  });
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
