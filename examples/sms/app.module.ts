import { Module } from '@nestjs/common';
import { FreqLimitModule } from 'nestjs-freq-limit';
import { LoginController } from './login.controller.js';
import { SmsController } from './sms.controller.js';

@Module({
  imports: [
    FreqLimitModule.forRootAsync({
      useFactory: () => ({
        // false: in the memory of this process
        redis: process.env['REDIS_URL'] ?? false,
        namespace: 'demo',
      }),
    }),
  ],
  controllers: [SmsController, LoginController],
})
export class AppModule {}
