import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import { FreqLimitThrottlerStorage } from 'nestjs-freq-limit/throttler';

@Controller('search')
export class SearchController {
  @Get()
  @Throttle({ burst: { limit: 2, ttl: 1_000, blockDuration: 30_000 } })
  search() {
    return [];
  }
}

@Module({
  imports: [
    FreqLimitModule.forRoot({ redis: process.env['REDIS_URL'], globalGuard: false }),
    ThrottlerModule.forRootAsync({
      inject: [FreqLimitService],
      useFactory: (limits: FreqLimitService) => ({
        throttlers: [
          { name: 'burst', ttl: 1_000, limit: 5 },
          { name: 'minute', ttl: 60_000, limit: 100 },
        ],
        storage: new FreqLimitThrottlerStorage(limits), // from 'nestjs-freq-limit/throttler'
      }),
    }),
  ],
  controllers: [SearchController],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})
export class ThrottledModule {}
