// One of several processes of an application whose classes have generated names: reports the status of each route.
import 'reflect-metadata';
import { Controller, Get, Injectable, mixin, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FreqLimit, FreqLimitModule } from '../../../dist/esm/index.js';

const [redis, namespace, paths] = process.argv.slice(2).map((text) => JSON.parse(text));

/** The output of a compiler for `@Controller(path) class extends Crud { @Get() @FreqLimit(…) list() {} }`. */
function crud(path) {
  class Crud {
    list() {
      return [];
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Crud.prototype, 'list');
  FreqLimit({ window: '1h', limit: 3, name: 'list' })(Crud.prototype, 'list', descriptor);
  Get()(Crud.prototype, 'list', descriptor);
  const Made = mixin(class extends Crud {});
  Controller(path)(Made);
  Injectable()(Made);
  return Made;
}

class AppModule {}
Module({
  imports: [FreqLimitModule.forRoot({ redis, namespace, timeoutMs: 5_000 })],
  controllers: paths.map(crud),
})(AppModule);
const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
await app.listen(0, '127.0.0.1');
const url = await app.getUrl();

const statuses = {};
for (const path of [...paths].sort()) statuses[path] = (await fetch(`${url}/${path}`)).status;
process.send(statuses, async () => {
  await app.close();
  process.disconnect();
});
