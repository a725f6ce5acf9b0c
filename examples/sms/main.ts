import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const port = Number(process.env['PORT'] ?? 3000);
const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
await app.listen(port);

const url = `http://localhost:${port}`;
const json = `-H 'content-type: application/json'`;
console.log(`
The demo listens on ${url} and counts in ${process.env['REDIS_URL'] === undefined ? 'memory (set REDIS_URL to count in Redis)' : 'Redis'}.
In another terminal:

  curl -i ${json} -d '{"phone":"13800000000"}' ${url}/sms/code
      202, RateLimit: "address";a=29;w=60, "minute";a=0;w=60, "daily";a=9;w=86400
      again within the minute: 429; Retry-After and the body say how many seconds to wait.
      The denied request is not charged: "daily" still has 9.

  curl -i ${json} -d '{"phone":"13900000000"}' ${url}/sms/code
      202: another phone has its own counters

  curl -i ${json} -d '{}' ${url}/sms/code
      202, then 429: without a phone, the request is counted by IP address, on a separate counter

  curl '${url}/sms/quota?phone=13800000000'
      shows what is left for this phone, and charges nothing

  curl -i ${json} -d '{"user":"ann","password":"guess"}' ${url}/login
      401 three times, then 429: the fourth guess never reaches the password

Stop it with Ctrl-C.
`);
