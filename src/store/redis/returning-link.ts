/** The events of a client of ioredis, `Redis` or `Cluster`, that tell how its connection is. */
export interface LinkedClient {
  readonly status: string;
  readonly stream?: { readonly writable?: boolean } | undefined;
  on?(event: LinkEvent, listener: () => void): unknown;
  off?(event: LinkEvent, listener: () => void): unknown;
}

type LinkEvent = 'ready' | 'close' | 'end';

/** Follows a connection: whether calls leave at once, and if not, whether it was lost a moment ago and comes back. */
export class ReturningLink {
  private wasReady: boolean;
  private isReconnecting = false;
  private readonly listeners: Readonly<Record<LinkEvent, () => void>>;

  constructor(
    private readonly client: LinkedClient,
    /** Called when the first reconnect has failed, or there is none. */
    private readonly onLost: () => void,
    /** Called whenever one of the two answers below may be another. */
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
        else this.lose();
      },
      end: () => {
        this.lose();
      },
    };
    this.each((event, on) => client.on?.(event, on));
  }

  /** Whether a call that is made now leaves at once. */
  get isReady(): boolean {
    return isWritable(this.client);
  }

  /** Whether the connection was lost a moment ago and its first reconnect is under way. */
  get isReturning(): boolean {
    // a connection that the server has closed shows it before its events come
    return this.isReconnecting || (this.wasReady && !this.isReady);
  }

  /** Stops to follow. Nothing returns from then on. */
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

  private lose(): void {
    this.wasReady = false;
    this.isReconnecting = false;
    this.onLost();
    this.onChange();
  }
}

/** Whether what is sent now goes to the server at once. */
export function isWritable({ status, stream }: LinkedClient): boolean {
  return status === 'ready' && stream?.writable !== false;
}
