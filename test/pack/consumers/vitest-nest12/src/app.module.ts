import { Module } from '@nestjs/common';
import { FreqLimitModule } from 'nestjs-freq-limit';
import { AppController } from './app.controller.js';
import { AppService } from './app.service.js';

@Module({
  imports: [
    FreqLimitModule.forRootAsync({
      useFactory: () => ({
        redis: process.env.LIMITS_REDIS_URL,
        namespace: process.env.LIMITS_NAMESPACE,
        timeoutMs: 5_000,
      }),
    }),
  ],
  controllers: [AppController],
  providers: [AppService],
})
export class AppModule {}
