import type { LogCode } from './log-codes.js';

const MAX_KINDS = 1_000;

interface Kind {
  leftOut: number;
  loggedAtMs: number;
}

/** A message, or a function of how many lines of its kind were left out since the last one. */
type Message = string | ((leftOut: number) => string);

/** The part of `Log` that writes. */
interface LogWriter {
  warn(code: LogCode, message: string): void;
  error(code: LogCode, message: string, stack?: string): void;
}

/** Writes at most one line of each kind per period, so that a client cannot fill the log. */
export class LimitedLog {
  private readonly kinds = new Map<string, Kind>();

  constructor(
    private readonly log: LogWriter,
    private readonly periodMs: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** @param kind lines of one kind share the limit; must not contain text from a client */
  warn(code: LogCode, kind: string, message: Message): void {
    const leftOut = this.admit(kind);
    if (leftOut !== undefined) this.log.warn(code, textOf(message, leftOut));
  }

  /** @param kind lines of one kind share the limit; must not contain text from a client */
  error(code: LogCode, kind: string, message: Message, stack?: string): void {
    const leftOut = this.admit(kind);
    if (leftOut !== undefined) this.log.error(code, textOf(message, leftOut), stack);
  }

  /** How many lines of a kind were left out since the last one; `undefined` if this one must be left out too. */
  private admit(name: string): number | undefined {
    const nowMs = this.nowMs();
    const kind = this.kinds.get(name);
    if (kind === undefined) {
      if (this.kinds.size >= MAX_KINDS) this.kinds.clear();
      this.kinds.set(name, { leftOut: 0, loggedAtMs: nowMs });
      return 0;
    }
    if (nowMs - kind.loggedAtMs < this.periodMs) {
      kind.leftOut++;
      return undefined;
    }
    const { leftOut } = kind;
    kind.leftOut = 0;
    kind.loggedAtMs = nowMs;
    return leftOut;
  }
}

function textOf(message: Message, leftOut: number): string {
  if (typeof message === 'function') return message(leftOut);
  return leftOut === 0 ? message : `${message} (${leftOut} similar lines not logged since the last one)`;
}
