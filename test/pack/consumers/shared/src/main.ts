import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { adapter } from './adapter.js';
import { AppModule } from './app.js';
import { report, visits } from './visits.js';

report(async () => visits(await NestFactory.create(AppModule, adapter(), { logger: ['error', 'warn'] })));
