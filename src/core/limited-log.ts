const MAX_KINDS = 1_000;

interface Kind {
  leftOut: number;
  loggedAtMs: number;
}

/** Allows one line of each kind per period, so that a client cannot fill the log. */
export class LimitedLog {
  private readonly kinds = new Map<string, Kind>();

  constructor(
    private readonly everyMs: number,
    private readonly nowMs: () => number,
  ) {}

  /**
   * Whether a line of this kind may be written now.
   * @returns how many lines were left out since the last one; `undefined` if this line must be left out too
   */
  admit(name: string): number | undefined {
    const nowMs = this.nowMs();
    const kind = this.kinds.get(name);
    if (kind === undefined) {
      if (this.kinds.size >= MAX_KINDS) this.kinds.clear();
      this.kinds.set(name, { leftOut: 0, loggedAtMs: nowMs });
      return 0;
    }
    if (nowMs - kind.loggedAtMs < this.everyMs) {
      kind.leftOut++;
      return undefined;
    }
    const { leftOut } = kind;
    kind.leftOut = 0;
    kind.loggedAtMs = nowMs;
    return leftOut;
  }
}
