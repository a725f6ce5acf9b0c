// Starts an application with mistakes as its users do, and lets its error end the process, or prints the error.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';
import { endWithParent } from '../support/typescript-process.js';

@Controller()
class Sms {
  @Get()
  @FreqLimit('1 year' as '1m', 5)
  send(): void {
    // never called
  }
}

const OPTIONS: Readonly<Record<string, object>> = {
  'a rule': {},
  'an option': { headers: 'yes' },
  'a getter': {
    redis: {
      get host(): string {
        throw new TypeError('no vault');
      },
    },
  },
};

const [mistake = '', way] = process.argv.slice(2);

@Module({
  imports: [FreqLimitModule.forRoot(OPTIONS[mistake])],
  controllers: mistake === 'a rule' ? [Sms] : [],
})
class AppModule {}

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule, way === 'default' ? {} : { abortOnError: false });
  await app.listen(0, '127.0.0.1');
}

endWithParent();
void (way === 'console.error' ? bootstrap().catch(console.error) : bootstrap()).then(() => {
  process.disconnect();
});
