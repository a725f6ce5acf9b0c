/** The parts of an ioredis client, `Redis` or `Cluster`, that show the state of its connection. */
export interface LinkedClient {
  readonly status: string;
  readonly stream?: { readonly writable?: boolean } | undefined;
  on?(event: LinkEvent, listener: () => void): unknown;
  off?(event: LinkEvent, listener: () => void): unknown;
}

type LinkEvent = 'ready' | 'close' | 'end';

/** Follows a connection: whether calls are sent at once, and if not, whether it was just lost and is reconnecting. */
export class ReturningLink {
  private wasReady: boolean;
  private isReconnecting = false;
  private readonly listeners: Readonly<Record<LinkEvent, () => void>>;

  constructor(
    private readonly client: LinkedClient,
    /** Called when the first reconnect has failed, or when the client does not reconnect. */
    private readonly onLost: () => void,
    /** Called whenever `isReady` or `isReturning` may have changed. */
    private readonly onChange: () => void,
  ) {
    this.wasReady = client.status === 'ready';
    this.listeners = {
      ready: () => {
        this.isReconnecting = false;
        this.wasReady = true;
        onChange();
      },
      close: () => {
        if (this.wasReady) this.beginReturn();
        else this.reportLost();
      },
      end: () => {
        this.reportLost();
      },
    };
    this.each((event, on) => client.on?.(event, on));
  }

  /** Whether a call is sent at once. */
  get isReady(): boolean {
    return isWritable(this.client);
  }

  /** Whether the connection was just lost and its first reconnect is in progress. */
  get isReturning(): boolean {
    // if the server has closed the connection, the stream shows it before the events come
    return this.isReconnecting || (this.wasReady && !this.isReady);
  }

  /** Removes the listeners. The connection does not return from then on. */
  detach(): void {
    this.each((event, on) => this.client.off?.(event, on));
    this.wasReady = false;
    this.isReconnecting = false;
  }

  private each(action: (event: LinkEvent, listener: () => void) => void): void {
    for (const event of ['ready', 'close', 'end'] as const) action(event, this.listeners[event]);
  }

  private beginReturn(): void {
    this.wasReady = false;
    this.isReconnecting = true;
    this.onChange();
  }

  private reportLost(): void {
    this.wasReady = false;
    this.isReconnecting = false;
    this.onLost();
    this.onChange();
  }
}

/** Whether a command goes to the server at once. */
export function isWritable({ status, stream }: Pick<LinkedClient, 'status' | 'stream'>): boolean {
  return status === 'ready' && stream?.writable !== false;
}
