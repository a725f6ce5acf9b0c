import { Module } from '@nestjs/common';
import { FreqLimitModule } from 'nestjs-freq-limit';
import { LoginController } from './login.controller.js';
import { SmsController } from './sms.controller.js';

@Module({
  imports: [
    FreqLimitModule.forRootAsync({
      useFactory: () => ({
        // without it, counters are kept in memory
        ...(process.env['REDIS_URL'] === undefined ? {} : { redis: process.env['REDIS_URL'] }),
        namespace: 'demo',
      }),
    }),
  ],
  controllers: [SmsController, LoginController],
})
export class AppModule {}
