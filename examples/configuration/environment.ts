import { Body, Controller, Inject, Module, Post } from '@nestjs/common';
import { defineRule, FreqLimit, FreqLimitModule, FreqLimitService, parseWindow } from 'nestjs-freq-limit';

const EXPORTS = {
  window: parseWindow(process.env['EXPORT_WINDOW'] ?? '1h', 'EXPORT_WINDOW'),
  limit: Number(process.env['EXPORT_LIMIT'] ?? 2),
};

@Controller()
export class AccountController {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  @Post('login')
  @FreqLimit(
    defineRule({
      name: 'login',
      window: process.env['LOGIN_WINDOW'] ?? '15m',
      limit: process.env['LOGIN_LIMIT'] ?? 5,
    }),
  )
  login() {
    return 'welcome';
  }

  @Post('export')
  async export(@Body('user') user: string) {
    const { allowed } = await this.limits.consume({ ...EXPORTS, key: user });
    return { allowed };
  }
}

@Module({ imports: [FreqLimitModule.forRoot()], controllers: [AccountController] })
export class AppModule {}
