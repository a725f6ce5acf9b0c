import { Inject, Injectable, Module } from '@nestjs/common';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';

// new RateLimiterRedis({ storeClient, keyPrefix: 'login', points: 5, duration: 900 })
const login = (user: string, address: string) =>
  ({ name: 'login', key: [user, address], window: '15m', limit: 5, onStoreError: 'deny' }) as const;

@Injectable()
export class LoginLimits {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  /** Seconds to wait before the next attempt; 0 where it may go ahead. limiter.consume(key) */
  async attempt(user: string, address: string): Promise<number> {
    const { allowed, tightest } = await this.limits.consume(login(user, address));
    return allowed ? 0 : Math.ceil((tightest?.retryAfterMs ?? 0) / 1_000);
  }

  /** How many attempts are left. limiter.get(key) */
  async left(user: string, address: string): Promise<number> {
    const { results } = await this.limits.peek(login(user, address));
    return results[0]?.remaining ?? 0;
  }

  /** After the right password. limiter.delete(key) */
  async succeeded(user: string, address: string): Promise<void> {
    await this.limits.reset(login(user, address));
  }

  /** Two limits at once, all or none. new RateLimiterUnion(perMinute, perDay).consume(user) */
  async mail(user: string): Promise<boolean> {
    const { allowed } = await this.limits.consume([
      { name: 'mail', key: user, window: '1m', limit: 2 },
      { name: 'mail', key: user, window: '1d', limit: 50 },
    ]);
    return allowed;
  }
}

@Module({
  imports: [FreqLimitModule.forRoot({ redis: process.env['REDIS_URL'] })],
  providers: [LoginLimits],
})
export class LoginLimitsModule {}
