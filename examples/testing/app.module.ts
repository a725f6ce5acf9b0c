import { Controller, Get, Module } from '@nestjs/common';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';

@Controller('quotes')
export class QuotesController {
  @Get()
  @FreqLimit('1m', 3, '{ip}')
  quote() {
    return { quote: 'less is more' };
  }
}

/** Counts in Redis. The tests need none. */
@Module({
  imports: [FreqLimitModule.forRootAsync({ useFactory: () => ({ redis: 'redis://counters:6379' }) })],
  controllers: [QuotesController],
})
export class AppModule {}
