import { Body, Controller, Module, Post } from '@nestjs/common';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';

@Controller('accounts')
export class AccountsController {
  @Post('reset')
  @FreqLimit({ name: 'address', window: '1h', limit: 20, key: '{ip}' })
  @FreqLimit({ name: 'email', window: '1h', limit: 3, key: 'email:{body.email}', normalize: 'email' })
  reset(@Body() body: { email?: string }) {
    return { sentTo: body.email };
  }

  @Post('call')
  @FreqLimit({
    name: 'call',
    window: '1d',
    limit: 5,
    key: '{body.phone}{ip}',
    normalize: { 'body.phone': 'phone' },
  })
  call() {
    return 'we call you';
  }
}

@Module({
  imports: [
    FreqLimitModule.forRoot({
      redis: process.env['REDIS_URL'],
      namespace: 'accounts',
      hashKeys: { secret: process.env['KEY_SECRET'] ?? 'sixteen characters or more' },
    }),
  ],
  controllers: [AccountsController],
})
export class AppModule {}
