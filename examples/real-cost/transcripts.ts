import { Inject, Injectable } from '@nestjs/common';
import { FreqLimitService } from 'nestjs-freq-limit';

/** A job of a queue. */
export interface Recording {
  readonly tenant: string;
  readonly transcribe: () => Promise<{ readonly seconds: number }>;
}

@Injectable()
export class Transcripts {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  /** Returns how long to wait before the next attempt; 0 if the job is done. */
  async run({ tenant, transcribe }: Recording): Promise<number> {
    const quota = { name: 'seconds', key: tenant, window: '1d', limit: 3_600, cost: 60 } as const;
    const { allowed, tightest, settle } = await this.limits.consume(quota, { settle: true });
    if (!allowed) return tightest?.retryAfterMs ?? 0;
    const { seconds } = await transcribe();
    await settle(Math.ceil(seconds));
    return 0;
  }
}
