import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './build/app.js';
import { adapter } from './build/adapter.js';
import { visits } from './build/visits.js';

it('limits', async () => {
  const { codes } = await visits(await NestFactory.create(AppModule, adapter(), { logger: ['error'] }));
  expect(codes.map(({ status }) => status)).toEqual([201, 201, 429, 201, 201, 429, 429]);
});
