import { Inject, Injectable } from '@nestjs/common';
import { FreqLimitService } from 'nestjs-freq-limit';
import { LoginController } from '../quick-start/app.module.js';

@Injectable()
export class Mails {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  /** Charges one mail to two limits of a tenant, in one call. */
  async maySend(tenant: string): Promise<boolean> {
    const { allowed } = await this.limits.consume([
      { name: 'mails', key: tenant, window: '1h', limit: 500 },
      { name: 'mails', key: tenant, window: '1d', limit: 5_000 },
    ]);
    return allowed;
  }

  /** Reads how many mails a tenant has sent today. Charges nothing. */
  async sentToday(tenant: string): Promise<number> {
    const { results } = await this.limits.peek({ name: 'mails', key: tenant, window: '1d' });
    return results[0]?.used ?? 0;
  }

  /** Resets a counter of the guard: this user may try to log in again. */
  async unlock(user: string, address: string): Promise<void> {
    const key = [user, address]; // the values of '{body.user}{ip}'
    await this.limits.reset({ controller: LoginController, handler: 'login', rule: 'login', key });
  }
}
