import { Inject, Injectable, Module } from '@nestjs/common';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import { setTimeout as sleep } from 'node:timers/promises';

/** The provider of mail takes two a second from all processes together. */
const pace = { name: 'mails', key: 'all', window: '1s', limit: 2 } as const;

@Injectable()
export class Mailer {
  readonly sent: string[] = [];

  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  async send(mail: string): Promise<void> {
    await this.turn();
    this.sent.push(mail);
  }

  /** Waits until one more mail may be sent. */
  private async turn(): Promise<void> {
    for (;;) {
      const { allowed, tightest } = await this.limits.consume(pace);
      if (allowed) return;
      await sleep(tightest?.retryAfterMs);
    }
  }
}

@Module({ imports: [FreqLimitModule.forRoot()], providers: [Mailer] })
export class MailerModule {}
