import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';

/** While it is true, only the throttler denies. */
const shadow = true;

@Controller('prices')
export class PricesController {
  @Get()
  @Throttle({ default: { ttl: 60_000, limit: 3 } })
  @FreqLimit({ name: 'default', window: '1m', limit: 2, shadow })
  prices() {
    return [];
  }
}

@Module({
  imports: [
    ThrottlerModule.forRoot([{ ttl: 60_000, limit: 100 }]),
    FreqLimitModule.forRoot({
      redis: process.env['REDIS_URL'],
      rules: [{ name: 'default', window: '1m', limit: 100, scope: 'handler', shadow }],
    }),
  ],
  controllers: [PricesController],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})
export class TrialModule {}
