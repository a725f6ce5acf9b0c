import { formatError } from '../../core/errors.js';

/** A client that reports why it cannot connect. */
export interface ReportingClient {
  on?(event: ReportEvent, listener: (error: unknown) => void): unknown;
  off?(event: ReportEvent, listener: (error: unknown) => void): unknown;
}

/** `node error` is the one of a server of a Cluster. */
type ReportEvent = 'connecting' | 'error' | 'node error';

/** Says that there is no connection, not why. */
const VAGUE =
  /^(Connection is closed|None of startup nodes|Stream isn't writeable|timeout$|Command timed out|(read|write) (ECONNRESET|EPIPE)|socket hang up|Client network socket disconnected|connect ETIMEDOUT|the server sent nothing)/;

/** Remembers why a client could not connect: of the errors of its last attempt, the one that says most. */
export class ConnectionErrors {
  private error: unknown;
  private explanation: Error | undefined;
  private isNewAttempt = true;
  private readonly listeners: Readonly<Record<ReportEvent, (error: unknown) => void>> = {
    connecting: () => {
      this.isNewAttempt = true;
    },
    error: (error) => {
      this.note(error);
    },
    'node error': (error) => {
      this.note(error);
    },
  };

  constructor(private readonly client: ReportingClient) {
    for (const event of EVENTS) client.on?.(event, this.listeners[event]);
  }

  /** The error; `undefined` if there was none since the client was ready. */
  get last(): unknown {
    return this.explanation !== undefined && isVague(this.error) ? this.explanation : this.error;
  }

  /** Whether nothing says why there is no connection. */
  get isVague(): boolean {
    return isVague(this.last);
  }

  /** A vague error follows from an earlier one of the same attempt, and does not replace it. */
  note(error: unknown): void {
    const root = rootError(error);
    if (!this.isNewAttempt && this.error !== undefined && isVague(root)) return;
    this.isNewAttempt = false;
    this.error = root;
  }

  /** Explains vague errors until the client is ready. */
  explain(error: Error): void {
    this.explanation = error;
  }

  /** The client is ready. */
  clear(): void {
    this.error = undefined;
    this.explanation = undefined;
  }

  /** Removes the listeners. */
  detach(): void {
    for (const event of EVENTS) this.client.off?.(event, this.listeners[event]);
  }
}

const EVENTS = ['connecting', 'error', 'node error'] as const;

function isVague(error: unknown): boolean {
  return error === undefined || VAGUE.test(formatError(error));
}

/** The error of the last node for a Cluster that cannot be reached, and that of the last sentinel for sentinels. */
function rootError(error: unknown): unknown {
  const { lastNodeError, message } = Object(error) as {
    readonly lastNodeError?: unknown;
    readonly message?: unknown;
  };
  if (lastNodeError !== undefined && lastNodeError !== null) return lastNodeError;
  const [isOfSentinels, last] =
    /^All sentinels are unreachable.*?(?:Last error: (.*))?$/s.exec(String(message)) ?? [];
  if (isOfSentinels === undefined) return error;
  // each of them has answered, and knows no primary of this name
  return sentinelError(last ?? 'ERR No such master with that name');
}

function sentinelError(last: string): Error {
  return new Error(VAGUE.test(last) ? last : `the sentinels do not name the primary: ${last}`);
}
