import { Controller, Get, Module } from '@nestjs/common';
import { defineRule, FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';

export const perUser = defineRule({ name: 'user', window: '1m', limit: 5, key: '{headers.x-user}' });

const byAddress = ['1s', '1h'].map((window) => defineRule({ window, limit: window === '1s' ? 3 : 20 }));

@Controller()
export class SearchController {
  @Get('search')
  @FreqLimit('search')
  search() {
    return 'found';
  }

  @Get('profile')
  @FreqLimit(perUser)
  profile() {
    return 'profile';
  }
}

@Module({
  imports: [
    FreqLimitModule.forRoot({
      rules: byAddress,
      namedRules: { search: defineRule({ window: '1h', limit: 2 }) },
    }),
  ],
  controllers: [SearchController],
})
export class AppModule {}
