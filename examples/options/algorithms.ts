import { Controller, Get, Post } from '@nestjs/common';
import { FreqLimit } from 'nestjs-freq-limit';

@Controller()
export class ShopController {
  @Get('search')
  @FreqLimit({ window: '1m', limit: 100, algorithm: 'sliding-window' }) // at most 100 in any minute
  search() {
    return [];
  }

  @Get('orders')
  @FreqLimit({ window: '1m', limit: 60, algorithm: 'token-bucket', burst: 10 }) // one per second, ten at once
  orders() {
    return [];
  }

  @Post('invoices')
  @FreqLimit({ calendar: 'month', timeZone: 'Europe/Berlin' }, 1_000, '{headers.x-tenant}') // until the month ends
  invoice() {
    return 'sent';
  }

  @Post('login')
  @FreqLimit({
    window: '15m',
    limit: 5,
    key: '{body.user}{ip}',
    countWhen: 'failure',
    blockFor: ['15m', '1h', '1d'],
  })
  login() {
    return 'welcome';
  }
}
