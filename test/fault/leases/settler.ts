import { setTimeout as sleep } from 'node:timers/promises';
import type { FreqLimitService } from 'nestjs-freq-limit';
import { OWN_COST, SHARED_COST } from './options.js';
import type { reporterTo } from './reports.js';

const LIMIT = 1_000_000_000;

// Windows are so long that no charge expires during a run, and a bucket does not refill one unit.
const KINDS = {
  fixed: { window: '30d', limit: LIMIT },
  sliding: { window: '30d', limit: LIMIT, algorithm: 'sliding-window' },
  bucket: { window: '30d', limit: 1, burst: LIMIT, algorithm: 'token-bucket' },
  calendar: { window: { calendar: 'year' }, limit: LIMIT },
  block: { window: '30d', limit: LIMIT, blockFor: '31d' },
} as const;
const KIND_NAMES = Object.keys(KINDS) as (keyof typeof KINDS)[];

/** The requests of this time share a counter. */
const SHARED_FOR_MS = 3_000;
const MAX_ESTIMATE = 20;

/** Charges an estimate on a counter of its own and a shared one, and settles both. */
export class Settler {
  private number = 0;

  constructor(
    private readonly limits: FreqLimitService,
    private readonly report: ReturnType<typeof reporterTo>,
    private readonly name: string,
  ) {}

  async once(): Promise<void> {
    const kind = KIND_NAMES[this.number % KIND_NAMES.length]!;
    const id = `${this.name}-${this.number++}`;
    const [estimate, actual] = costs();
    this.report({ what: 'charge', id, kind, estimate, actual });
    const rest = { ...KINDS[kind], cost: estimate, onStoreError: 'deny' } as const;
    const group = String(Math.floor(Date.now() / SHARED_FOR_MS));
    const [own, shared] = [OWN_COST + kind, SHARED_COST + kind];
    const verdict = await this.limits.consume(
      [
        { ...rest, name: own, key: id },
        { ...rest, name: shared, key: group },
      ],
      { settle: true },
    );
    this.report({ what: 'charged', id });
    await sleep(Math.random() * 80);
    await verdict.settle({ [own]: actual, [shared]: actual });
  }
}

/** An estimate and the actual cost, which differ by more than what a bucket may keep of a refund. */
function costs(): readonly [number, number] {
  const estimate = 1 + Math.floor(Math.random() * MAX_ESTIMATE);
  const actual = Math.floor(Math.random() * 2 * MAX_ESTIMATE);
  return Math.abs(estimate - actual) > 1 ? [estimate, actual] : [estimate, estimate + 2];
}
