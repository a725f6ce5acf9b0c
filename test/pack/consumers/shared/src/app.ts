import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import { FreqLimit, FreqLimitModule, FreqLimitService, SkipFreqLimit } from 'nestjs-freq-limit';

export class Settings {
  readonly redis = process.env['LIMITS_REDIS_URL'] ?? false;
  readonly namespace = process.env['LIMITS_NAMESPACE'];
}

@Module({ providers: [Settings], exports: [Settings] })
export class SettingsModule {}

@Controller('sms')
@FreqLimit('1m', 4, 'all:everybody')
export class SmsController {
  constructor(private readonly limits: FreqLimitService) {}

  @Post('code')
  @FreqLimit({ window: '1h', limit: 2, key: 'phone:{body.phone}', name: 'code' })
  send(@Body() body: { phone: string }): { to: string } {
    return { to: body.phone };
  }

  @Get('free')
  @SkipFreqLimit()
  async free(): Promise<{ allowed: boolean }> {
    const { allowed } = await this.limits.consume({ key: 'free', window: '1m', limit: 1 });
    return { allowed };
  }
}

@Module({
  imports: [
    FreqLimitModule.forRootAsync({
      imports: [SettingsModule],
      inject: [Settings],
      useFactory: ({ redis, namespace }: Settings) => ({ redis, namespace, timeoutMs: 5_000 }),
    }),
  ],
  controllers: [SmsController],
})
export class AppModule {}
