const TICK_MS = 5;

/** Adds up the time in which this process was blocked, which is not the fault of a store. */
export class StallClock {
  private sumMs = 0;
  private tickedAtMs = performance.now();
  private readonly timer = setInterval(() => this.tick(), TICK_MS);

  totalMs(): number {
    this.tick();
    return this.sumMs;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    const nowMs = performance.now();
    this.sumMs += Math.max(0, nowMs - this.tickedAtMs - TICK_MS);
    this.tickedAtMs = nowMs;
  }
}
