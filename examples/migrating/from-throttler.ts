import { Controller, Get, Module, Post } from '@nestjs/common';
import { FreqLimit, FreqLimitModule, SkipFreqLimit } from 'nestjs-freq-limit';

const MINUTES = 2;

/** A window from a computed `ttl`. */
const ms = (ttl: number) => `${ttl}ms` as const;

@Controller('articles')
export class ArticlesController {
  // @Throttle({ default: { ttl: 60_000, limit: 2, getTracker: (req) => req.headers['x-api-key'] } })
  @Post()
  @FreqLimit({ name: 'default', window: '1m', limit: 2, key: '{headers.x-api-key}' })
  write() {
    return { written: true };
  }

  // @SkipThrottle({ burst: true })
  @Get()
  @SkipFreqLimit('burst')
  read() {
    return [];
  }

  // @Throttle({ burst: { ttl: seconds(1), limit: 3, blockDuration: seconds(30) } })
  @Get('newest')
  @FreqLimit({ name: 'burst', window: '1s', limit: 3, blockFor: '30s' })
  newest() {
    return [];
  }
}

@Module({
  imports: [
    // ThrottlerModule.forRoot([
    //   { ttl: MINUTES * 60_000, limit: 100 },
    //   { name: 'burst', ttl: seconds(1), limit: 3 },
    // ])
    FreqLimitModule.forRoot({
      redis: process.env['REDIS_URL'],
      headers: 'legacy',
      rules: [
        { name: 'default', window: ms(MINUTES * 60_000), limit: 100, scope: 'handler' },
        { name: 'burst', window: '1s', limit: 3, scope: 'handler' },
      ],
    }),
  ],
  controllers: [ArticlesController],
})
export class ArticlesModule {}
