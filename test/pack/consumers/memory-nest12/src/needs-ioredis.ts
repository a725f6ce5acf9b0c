import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FreqLimitModule, isFreqLimitError } from 'nestjs-freq-limit';
import { adapter } from './adapter.js';
import { report } from './requests.js';

@Module({ imports: [FreqLimitModule.forRoot({ redis: 'redis://127.0.0.1:1' })] })
class AppModule {}

// counting in Redis needs a package that is not installed here: start-up says which
report(async () => {
  try {
    await (await NestFactory.create(AppModule, adapter(), { logger: false, abortOnError: false })).init();
    return 'started';
  } catch (error) {
    return isFreqLimitError(error) ? `${error.code}: ${error.message}` : String(error);
  }
});
