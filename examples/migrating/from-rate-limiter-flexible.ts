import { Inject, Injectable, Module } from '@nestjs/common';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';

// new RateLimiterRedis({ storeClient, keyPrefix: 'login', points: 5, duration: 900 })
const login = (user: string, address: string) =>
  ({ name: 'login', key: [user, address], window: '15m', limit: 5, onStoreError: 'deny' }) as const;

@Injectable()
export class LoginLimits {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  /** Returns the seconds until the next attempt may start, 0 if now. */
  async attempt(user: string, address: string): Promise<number> {
    // await limiter.consume(key)
    const { allowed, tightest } = await this.limits.consume(login(user, address));
    return allowed ? 0 : Math.ceil((tightest?.retryAfterMs ?? 0) / 1_000);
  }

  async attemptsLeft(user: string, address: string): Promise<number> {
    // await limiter.get(key)
    const { results } = await this.limits.peek(login(user, address));
    return results[0]?.remaining ?? 0;
  }

  async succeeded(user: string, address: string): Promise<void> {
    // await limiter.delete(key)
    await this.limits.reset(login(user, address));
  }

  async mayMail(user: string): Promise<boolean> {
    // await new RateLimiterUnion(perMinute, perDay).consume(user)
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
