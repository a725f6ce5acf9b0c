import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { adapter } from './adapter.js';
import { AppModule } from './app.js';
import { report, sendRequests } from './requests.js';

report(async () =>
  sendRequests(await NestFactory.create(AppModule, adapter(), { logger: ['error', 'warn'] })),
);
