import { Inject, Injectable, Module } from '@nestjs/common';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import { setTimeout as sleep } from 'node:timers/promises';

/** The mail provider accepts two mails per second from all processes together. */
const pace = { name: 'mails', key: 'all', window: '1s', limit: 2 } as const;

@Injectable()
export class Mailer {
  readonly sent: string[] = [];

  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  async send(mail: string): Promise<void> {
    await this.waitForTurn();
    this.sent.push(mail);
  }

  /** Waits until the limit allows one more mail. */
  private async waitForTurn(): Promise<void> {
    for (;;) {
      const { allowed, tightest } = await this.limits.consume(pace);
      if (allowed) return;
      await sleep(tightest?.retryAfterMs);
    }
  }
}

@Module({ imports: [FreqLimitModule.forRoot()], providers: [Mailer] })
export class MailerModule {}
