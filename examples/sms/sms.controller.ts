import { Body, Controller, Get, HttpCode, Inject, Post, Query } from '@nestjs/common';
import { FreqLimit, FreqLimitService, SkipFreqLimit } from 'nestjs-freq-limit';

/** Sends log-in codes by SMS, which cost money. One store call checks its three limits. */
@Controller('sms')
@FreqLimit({ window: '1m', limit: 30, key: '{ip}', name: 'address' })
export class SmsController {
  constructor(@Inject(FreqLimitService) private readonly limits: FreqLimitService) {}

  @Post('code')
  @HttpCode(202)
  @FreqLimit({ window: '1m', limit: 1, key: 'phone:{body.phone}', name: 'minute' })
  @FreqLimit({ window: '1d', limit: 10, key: 'phone:{body.phone}', name: 'daily' })
  send(@Body() body: { phone?: string }) {
    return { sent: true, phone: body.phone ?? 'none given, so counted by your address' };
  }

  /** Shows how many codes are left for a phone. The service reads the counters of the guard. */
  @Get('quota')
  @SkipFreqLimit()
  async quota(@Query('phone') phone = '13800000000') {
    const rule = { controller: SmsController, handler: 'send', key: phone };
    const { results } = await this.limits.peek([
      { ...rule, rule: 'minute' },
      { ...rule, rule: 'daily' },
    ]);
    return results.map(({ name, remaining, resetAfterMs }) => ({ name, remaining, resetAfterMs }));
  }
}
