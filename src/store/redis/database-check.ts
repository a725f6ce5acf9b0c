/** The parts of an ioredis client that are needed to find out which database its connection uses. */
export interface DatabaseClient {
  readonly status: string;
  readonly isCluster: boolean;
  readonly options?: object | undefined;
  /** The database that the client itself assumes; not public in ioredis. */
  readonly condition?: { readonly select?: number } | null | undefined;
  select?(db: number): Promise<unknown>;
  ping?(): Promise<unknown>;
  on?(event: 'ready' | 'close' | 'error', listener: (error: unknown) => void): unknown;
  off?(event: 'ready' | 'close' | 'error', listener: (error: unknown) => void): unknown;
}

interface Listener {
  /** The client is ready and uses the right database. */
  onReady(): void;
  /** The client is ready, but the server has refused its database. */
  onRefused(error: unknown): void;
}

const RETRY_MS = 1_000;
/** Clients that may use a wrong database, each with the server's error if there is one. */
const unconfirmed = new WeakMap<object, unknown>();

/** Whether a client that is ready also uses its database. */
export function isInItsDatabase(client: object): boolean {
  return !unconfirmed.has(client);
}

/** The server's error, if it has refused the database. */
export function refusalOf(client: object): unknown {
  return unconfirmed.get(client);
}

/**
 * Calls the listener when a client becomes ready. Returns a function that stops this.
 *
 * If the server refuses SELECT, ioredis only emits an error and continues in database 0. There, counters would mix with those
 * of other applications, so such a client is not used. SELECT is retried once a second.
 */
export function watchDatabase(client: DatabaseClient, listener: Listener): () => void {
  if (client.isCluster || client.select === undefined || wantedDatabase(client) === 0) {
    const onReady = (): void => {
      listener.onReady();
    };
    client.on?.('ready', onReady);
    return () => client.off?.('ready', onReady);
  }
  const check = new DatabaseCheck(client, listener);
  return () => {
    check.stop();
  };
}

class DatabaseCheck {
  private retry: NodeJS.Timeout | undefined;
  private isStopped = false;
  /** Whether the connection was opened before this listener was added. */
  private wasOpenedBefore: boolean;
  private readonly onReady = (): void => void this.confirm();
  private readonly onClose = (): void => {
    this.wasOpenedBefore = false;
    clearTimeout(this.retry);
    unconfirmed.set(this.client, undefined);
  };
  private readonly onError = (error: unknown): void => {
    // an error while connecting: SELECT was refused, or its result is not known
    if (isInItsDatabase(this.client)) return;
    unconfirmed.set(this.client, error);
  };

  constructor(
    private readonly client: DatabaseClient,
    private readonly listener: Listener,
  ) {
    this.wasOpenedBefore = client.status === 'ready' || client.status === 'connect';
    unconfirmed.set(client, undefined);
    client.on?.('ready', this.onReady);
    client.on?.('close', this.onClose);
    client.on?.('error', this.onError);
    if (client.status === 'ready') void this.confirm();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.retry);
    this.client.off?.('ready', this.onReady);
    this.client.off?.('close', this.onClose);
    this.client.off?.('error', this.onError);
  }

  private async confirm(): Promise<void> {
    if (this.wasOpenedBefore) {
      await this.selectAgain();
      return;
    }
    const { enableReadyCheck = true } = (this.client.options ?? {}) as {
      readonly enableReadyCheck?: boolean;
    };
    // without a ready check, 'ready' comes before the answer to SELECT; answers come in order, so wait for a later one
    if (!enableReadyCheck) await this.client.ping?.().catch(this.noteNoAnswer);
    this.decide();
  }

  /** Sends SELECT again, for the database that the client assumes, so nothing changes for other users of the client. */
  private async selectAgain(): Promise<void> {
    if (this.client.status !== 'ready') return;
    try {
      await this.client.select?.(wantedDatabase(this.client));
      unconfirmed.set(this.client, undefined);
    } catch (error) {
      unconfirmed.set(this.client, error);
    }
    this.decide();
  }

  private decide(): void {
    if (this.client.status !== 'ready') return;
    const refusal = refusalOf(this.client);
    if (refusal === undefined) {
      unconfirmed.delete(this.client);
      this.listener.onReady();
      return;
    }
    if (this.isStopped) return;
    this.listener.onRefused(refusal);
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.selectAgain(), RETRY_MS);
    this.retry.unref();
  }

  /** An error of the server is an answer too, and shows that SELECT was answered before it. */
  private readonly noteNoAnswer = (error: unknown): void => {
    const { name } = Object(error) as { readonly name?: unknown };
    if (name !== 'ReplyError') this.onError(error);
  };
}

function wantedDatabase({ condition, options }: DatabaseClient): number {
  const { db } = (options ?? {}) as { readonly db?: unknown };
  return Number(condition?.select ?? db ?? 0);
}
