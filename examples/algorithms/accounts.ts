import { Body, Controller, Module, Post, UnauthorizedException } from '@nestjs/common';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';

@Controller()
export class AccountsController {
  @Post('login')
  @FreqLimit({ name: 'address', window: '1h', limit: 100, key: '{ip}' })
  @FreqLimit({
    name: 'login',
    window: '15m',
    limit: 5,
    key: '{body.user}{ip}',
    countWhen: 'failure',
    blockFor: ['15m', '1h', '1d'],
  })
  login(@Body() body: { user?: string; password?: string }) {
    if (body.password !== 'open sesame') throw new UnauthorizedException();
    return { welcome: body.user };
  }

  @Post('code')
  @FreqLimit({ name: 'budget', window: { calendar: 'month' }, limit: 20_000, key: 'all:sms' })
  @FreqLimit({ name: 'address', window: '1h', limit: 20, key: '{ip}' })
  @FreqLimit({ name: 'minute', window: '1m', limit: 1, key: '{body.phone}', normalize: 'phone' })
  @FreqLimit({
    name: 'day',
    window: '1d',
    limit: 5,
    algorithm: 'sliding-window',
    key: '{body.phone}',
    normalize: 'phone',
  })
  sendCode(@Body() body: { phone?: string }) {
    return { sentTo: body.phone };
  }
}

@Controller('hooks')
export class HooksController {
  @Post('payments')
  @FreqLimit({ window: '1m', limit: 300, algorithm: 'token-bucket', burst: 600, key: '{ip}' })
  receive() {
    return 'received';
  }
}

@Module({
  imports: [FreqLimitModule.forRoot({ redis: process.env['REDIS_URL'], namespace: 'accounts' })],
  controllers: [AccountsController, HooksController],
})
export class AccountsModule {}
