import { Body, Controller, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { FreqLimit } from 'nestjs-freq-limit';

/**
 * Log-in with two limits. The first counts by account and address, so a client cannot lock out other users. The second counts
 * by address alone, so a client cannot try many accounts.
 */
@Controller('login')
export class LoginController {
  @Post()
  @HttpCode(200)
  @FreqLimit({ window: '1m', limit: 3, key: '{body.user}{ip}', name: 'account' })
  @FreqLimit({ window: '1h', limit: 20, key: '{ip}', name: 'address' })
  login(@Body() body?: { user?: string; password?: string }) {
    if (body?.password !== 'open sesame') throw new UnauthorizedException();
    return { welcome: body.user };
  }
}
