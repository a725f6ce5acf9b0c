/** What is needed of a client to tell which database its connection is in. Known by its methods, as all clients are. */
export interface WatchedClient {
  readonly status: string;
  readonly isCluster: boolean;
  readonly options?: object | undefined;
  /** Where the client itself believes to be; not public in ioredis. */
  readonly condition?: { readonly select?: number } | null | undefined;
  select?(db: number): Promise<unknown>;
  ping?(): Promise<unknown>;
  on?(event: 'ready' | 'close' | 'error', listener: (error: unknown) => void): unknown;
  off?(event: 'ready' | 'close' | 'error', listener: (error: unknown) => void): unknown;
}

interface Listener {
  /** The client is ready, and in the database that it is meant to be in. */
  onReady(): void;
  /** The client is ready, but the server has refused its database. */
  onRefused(error: unknown): void;
}

const RETRY_MS = 1_000;
/** Clients whose database is not known to be the right one, and why. */
const unconfirmed = new WeakMap<object, unknown>();

/** Whether a client that is ready is in its database too. */
export function isInItsDatabase(client: object): boolean {
  return !unconfirmed.has(client);
}

/** Why it is not, where the server has said so. */
export function refusalOf(client: object): unknown {
  return unconfirmed.get(client);
}

/** Whether it is the server's no to what a client sends while it connects, which no later attempt is likely to change. */
export function isRefusedHandshake(error: unknown): boolean {
  const { name, command } = Object(error) as {
    readonly name?: unknown;
    readonly command?: { readonly name?: unknown };
  };
  return name === 'ReplyError' && ['auth', 'hello', 'select'].includes(String(command?.name).toLowerCase());
}

/**
 * Hears of a client's becoming ready, and answers how to stop that.
 *
 * ioredis goes on in database 0 where the server refuses its SELECT, and only emits an error. Counters would land among
 * those of others, so such a client is not used; the server is asked again once a second.
 */
export function watchDatabase(client: WatchedClient, listener: Listener): () => void {
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
  /** The connection was made before anything could be heard of it. */
  private isUnseen: boolean;
  private readonly onReady = (): void => void this.confirm();
  private readonly onClose = (): void => {
    this.isUnseen = false;
    clearTimeout(this.retry);
    unconfirmed.set(this.client, undefined);
  };
  private readonly onError = (error: unknown): void => {
    // what a connection says that is being made: SELECT was refused, or nothing is known of its answer
    if (isInItsDatabase(this.client)) return;
    unconfirmed.set(this.client, error);
  };

  constructor(
    private readonly client: WatchedClient,
    private readonly listener: Listener,
  ) {
    this.isUnseen = client.status === 'ready' || client.status === 'connect';
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
    if (this.isUnseen) {
      await this.ask();
      return;
    }
    const { enableReadyCheck = true } = (this.client.options ?? {}) as {
      readonly enableReadyCheck?: boolean;
    };
    // without a ready check it is ready before its SELECT is answered; answers come in the order of the questions
    if (!enableReadyCheck) await this.client.ping?.().catch(this.noteSilence);
    this.decide();
  }

  /** Asks for the database again. It is the one the client believes to be in, so nothing changes for others. */
  private async ask(): Promise<void> {
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
    this.retry = setTimeout(() => void this.ask(), RETRY_MS);
    this.retry.unref();
  }

  /** A refusal is an answer too, and tells that SELECT was answered before. */
  private readonly noteSilence = (error: unknown): void => {
    const { name } = Object(error) as { readonly name?: unknown };
    if (name !== 'ReplyError') this.onError(error);
  };
}

function wantedDatabase({ condition, options }: WatchedClient): number {
  const { db } = (options ?? {}) as { readonly db?: unknown };
  return Number(condition?.select ?? db ?? 0);
}
