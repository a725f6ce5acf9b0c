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
The demo listens on ${url} and counts in ${process.env['REDIS_URL'] === undefined ? 'the memory of this process (REDIS_URL switches to Redis)' : 'Redis'}.
In another terminal:

  curl -i ${json} -d '{"phone":"13800000000"}' ${url}/sms/code
      202, RateLimit: "address";a=29;w=60, "minute";a=0;w=60, "daily";a=9;w=86400
      again within the minute: 429, Retry-After and the body say how many seconds to wait;
      the denied request is not charged: "daily" still has 9

  curl -i ${json} -d '{"phone":"13900000000"}' ${url}/sms/code
      202: another phone, another counter

  curl -i ${json} -d '{}' ${url}/sms/code
      202, then 429: no phone, so counted by address, on a counter of its own

  curl '${url}/sms/quota?phone=13800000000'
      what is left for that phone, without charging it

  curl -i ${json} -d '{"user":"ann","password":"guess"}' ${url}/login
      401 three times, then 429: the fourth guess never reaches the password

Stop it with Ctrl-C.
`);
