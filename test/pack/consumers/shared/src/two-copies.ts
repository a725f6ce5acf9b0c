import 'reflect-metadata';
import { Body, Catch, Controller, Get, Module, Post, UseFilters, UseGuards } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import * as original from 'nestjs-freq-limit';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { adapter } from './adapter.js';
import { report, sendRequests } from './requests.js';

type Copy = typeof original;

/** The decorators, the guard and the brand of one copy on a controller whose module comes from another. */
function moduleWith(copy: Copy, name: string, globalGuard: boolean) {
  @Catch()
  class ShowDenials implements ExceptionFilter {
    constructor(private readonly host: HttpAdapterHost) {}

    catch(error: { getStatus(): number }, host: ArgumentsHost): void {
      const denied = copy.isFreqLimitExceeded(error);
      const { httpAdapter } = this.host;
      httpAdapter.reply(host.switchToHttp().getResponse(), { denied }, error.getStatus());
    }
  }

  @Controller('sms')
  @copy.FreqLimit('1m', 4, 'all:everybody')
  @UseFilters(ShowDenials)
  class SmsController {
    constructor(private readonly limits: FreqLimitService) {}

    @Post('code')
    @copy.FreqLimit({ window: '1h', limit: 2, key: 'phone:{body.phone}', name: 'code' })
    send(@Body() body: { phone: string }): { to: string } {
      return { to: body.phone };
    }

    @Get('free')
    @copy.SkipFreqLimit()
    async free(): Promise<{ allowed: boolean }> {
      const { allowed } = await this.limits.consume({ key: 'free', window: '1m', limit: 1 });
      return { allowed };
    }
  }
  if (!globalGuard) UseGuards(copy.FreqLimitGuard)(SmsController);

  @Module({
    imports: [
      FreqLimitModule.forRootAsync({
        globalGuard,
        useFactory: () => ({
          redis: process.env['LIMITS_REDIS_URL'] ?? false,
          namespace: `${process.env['LIMITS_NAMESPACE'] ?? 'fl'}:${name}`,
          timeoutMs: 5_000,
        }),
      }),
    ],
    controllers: [SmsController],
  })
  class AppModule {}
  return AppModule;
}

report(async () => {
  const [name = '', guard] = process.argv.slice(2);
  const require = createRequire(join(process.cwd(), 'any.js'));
  const cjs = join(process.cwd(), 'node_modules/freq-limit-copy/dist/cjs/index.js');
  const copy = require(name === 'cjs' ? cjs : 'freq-limit-copy') as Copy;
  if (copy.FreqLimitService === original.FreqLimitService) throw new Error('this is not another copy');
  const module = moduleWith(copy, `${name}-${guard ?? 'global'}`, guard !== 'guard');
  return sendRequests(await NestFactory.create(module, adapter(), { logger: ['warn'], abortOnError: false }));
});
