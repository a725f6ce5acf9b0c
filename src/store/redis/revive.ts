import timers from 'node:timers';

// the module's own, and taken once, so that a test's fake timers do not keep it from connecting
const { setTimeout, clearTimeout } = timers;

/** What is used of ioredis' `Redis`. */
export interface RevivableClient {
  connect(): Promise<unknown>;
  on(event: 'connecting' | 'close' | 'end', listener: () => void): unknown;
}

const REST_MS = 50;

/**
 * Connects a client again that ioredis has given up although nobody asked it to.
 *
 * If a failover is announced while ioredis asks a sentinel for the primary, its connector stops, and the client ends without
 * a word: no retry follows, and every later call fails. Such an end comes right after `connecting`. An end that the client's
 * own `retryStrategy` or `disconnect()` wants comes after `close`.
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
    }, REST_MS);
  });
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
