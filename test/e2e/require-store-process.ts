import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FreqLimitModule, type FreqLimitOptions } from 'nestjs-freq-limit';

/** Starts an application with these options, reports how that ended, and then has nothing left to do. */
const limits = JSON.parse(process.argv[2] ?? '{}') as FreqLimitOptions;

@Module({ imports: [FreqLimitModule.forRoot(limits)] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false });
try {
  await app.init();
  await app.close();
  process.send?.('started');
} catch (error) {
  process.exitCode = 1;
  process.send?.((error as { code?: unknown }).code);
}
// the channel to the test would keep the process alive
process.disconnect();
