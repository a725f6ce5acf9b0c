import { Body, Controller, Module, Post, UnauthorizedException } from '@nestjs/common';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';

@Controller('login')
export class LoginController {
  @Post()
  // 5 wrong passwords in 15 minutes, for each combination of account and IP address
  @FreqLimit({ name: 'login', window: '15m', limit: 5, key: '{body.user}{ip}', countWhen: 'failure' })
  login(@Body() body?: { user?: string; password?: string }) {
    if (body?.password !== 'open sesame') throw new UnauthorizedException();
    return { welcome: body.user };
  }
}

@Module({
  imports: [
    FreqLimitModule.forRoot({
      redis: 'redis://localhost:6379', // without this option, counters are kept in memory
      namespace: 'my-app', // prefix of the keys in Redis
      rules: [{ name: 'global', window: '1m', limit: 100, key: '{ip}' }], // all handlers together
    }),
  ],
  controllers: [LoginController],
})
export class AppModule {}
