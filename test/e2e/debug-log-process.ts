// Runs an application with limits, and calls it with the bodies that it is given.
import 'reflect-metadata';
import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { FreqLimit, type FreqLimitOptions } from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { endWithParent } from '../support/typescript-process.js';

@Controller('sms')
class SmsController {
  @Post()
  @HttpCode(200)
  @FreqLimit({ name: 'phone', window: '1m', limit: 1, key: 'phone:{body.phone}', onMissingKey: 'deny' })
  @FreqLimit({ window: () => '1h', limit: 100, key: 'all', countDenied: true, countWhen: 'success' })
  send(@Body() body: object): object {
    return body;
  }
}

endWithParent();
const { limits, bodies } = JSON.parse(process.argv[2] ?? '') as {
  readonly limits: FreqLimitOptions;
  readonly bodies: readonly object[];
};
const { url } = await startApp('express', { limits, controllers: [SmsController] });
const statuses: number[] = [];
for (const body of bodies) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/sms`, { method: 'POST', headers, body: JSON.stringify(body) });
  statuses.push(response.status);
}
await closeApps();
process.send?.(statuses);
