import { Inject, Injectable } from '@nestjs/common';
import { FreqLimitService } from 'nestjs-freq-limit';

@Injectable()
export class ImportsWorker {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  /** Runs an import, if less than three of this tenant run in all processes. Returns whether it ran. */
  async tryImport(
    tenant: string,
    rows: readonly string[],
    save: (row: string) => Promise<void>,
  ): Promise<boolean> {
    const { allowed } = await this.limits.hold(
      [
        { name: 'imports', key: tenant, concurrency: 3 },
        { name: 'imports', key: tenant, window: '1d', limit: 100 },
      ],
      async ({ signal }) => {
        for (const row of rows) {
          signal.throwIfAborted(); // the slot may be lost
          await save(row);
        }
      },
    );
    return allowed;
  }
}
