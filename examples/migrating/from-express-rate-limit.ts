import { Controller, Get, Module, Post } from '@nestjs/common';
import { FreqLimit, FreqLimitModule, SkipFreqLimit } from 'nestjs-freq-limit';

@Controller()
export class AccountController {
  // app.use('/login', rateLimit({ windowMs: 15 * 60_000, limit: 2, keyGenerator: (req) => req.body.user + req.ip }))
  @Post('login')
  @FreqLimit({ window: '15m', limit: 2, key: '{body.user}{ip}', countDenied: true })
  login() {
    return { welcome: true };
  }

  @Get('account')
  account() {
    return {};
  }

  // skip: (req) => req.path === '/health'
  @Get('health')
  @SkipFreqLimit()
  health() {
    return 'ok';
  }
}

@Module({
  imports: [
    // app.use(rateLimit({ windowMs: 60_000, limit: 3, standardHeaders: 'draft-8', legacyHeaders: true, store }))
    FreqLimitModule.forRoot({
      redis: process.env['REDIS_URL'],
      headers: 'both',
      countDenied: true,
      rules: [{ name: 'all', window: '1m', limit: 3 }],
    }),
  ],
  controllers: [AccountController],
})
export class AccountModule {}
