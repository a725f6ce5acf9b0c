import { Controller, Get, Module, Post } from '@nestjs/common';
import { FreqLimit, FreqLimitModule, SkipFreqLimit } from 'nestjs-freq-limit';

@Controller('articles')
export class ArticlesController {
  // @Throttle({ minute: { limit: 2, ttl: 60_000, getTracker: (req) => req.headers['x-api-key'] } })
  @Post()
  @FreqLimit({ name: 'minute', window: '1m', limit: 2, key: '{headers.x-api-key}' })
  write() {
    return { written: true };
  }

  // @SkipThrottle({ burst: true })
  @Get()
  @SkipFreqLimit('burst')
  read() {
    return [];
  }

  @Get('newest')
  newest() {
    return [];
  }
}

@Module({
  imports: [
    // ThrottlerModule.forRoot([
    //   { name: 'burst', ttl: 1_000, limit: 3 },
    //   { name: 'minute', ttl: 60_000, limit: 100 },
    // ])
    FreqLimitModule.forRoot({
      redis: process.env['REDIS_URL'],
      headers: 'legacy',
      rules: [
        { name: 'burst', window: '1s', limit: 3, scope: 'handler' },
        { name: 'minute', window: '1m', limit: 100, scope: 'handler' },
      ],
    }),
  ],
  controllers: [ArticlesController],
})
export class ArticlesModule {}
