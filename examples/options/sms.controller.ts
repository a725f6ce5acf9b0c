import { Body, Controller, Post } from '@nestjs/common';
import { FreqLimit } from 'nestjs-freq-limit';

@Controller('sms')
@FreqLimit('1m', 600, '{ip}') // all handlers of this controller together
export class SmsController {
  @Post('code')
  @FreqLimit('1m', 1, 'phone:{body.phone}') // one code per minute for each phone
  @FreqLimit({ name: 'daily', window: '1d', limit: 10, key: 'phone:{body.phone}' })
  send(@Body() body: { phone?: string }) {
    return { sentTo: body.phone };
  }
}
