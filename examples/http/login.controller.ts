import { Body, Controller, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { FreqLimit, type Outcome } from 'nestjs-freq-limit';

const isWrongPassword = ({ statusCode }: Outcome) => statusCode === 401;

/** A log-in that counts wrong passwords only. */
@Controller('login')
export class LoginController {
  @Post()
  @HttpCode(200)
  @FreqLimit({ window: '15m', limit: 5, key: '{body.user}{ip}', name: 'wrong', countWhen: isWrongPassword })
  @FreqLimit({ window: '1h', limit: 100, name: 'address' })
  login(@Body() body?: { user?: string; password?: string }) {
    if (body?.password !== 'open sesame') throw new UnauthorizedException();
    return { welcome: body.user };
  }
}
