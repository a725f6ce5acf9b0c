import { Controller, Get } from '@nestjs/common';
import { FreqLimit, FreqLimitService } from '../../src/index.js';
import { closeApps, startApp } from '../support/app.js';
import { redisUrl, uniqueNamespace } from '../support/redis.js';
afterEach(closeApps);
it('unhandled', async () => {
  const seen: unknown[] = [];
  process.on('unhandledRejection', (r) => seen.push(r));
  void Promise.reject(new Error('x'));
  await new Promise((r) => setTimeout(r, 100));
  console.log('unhandled seen', seen.length);
});
it('20000', async () => {
  @Controller() class C { @Get() @FreqLimit('1m',1) get(){return 1} }
  for (const t of [undefined, 60000]) {
    const { app } = await startApp('express', { controllers: [C], limits: { redis: redisUrl(), namespace: uniqueNamespace(), ...(t ? { timeoutMs: t } : {}) } });
    const s = app.get(FreqLimitService);
    const start = performance.now();
    const all = await Promise.allSettled(Array.from({ length: 20000 }, (_, i) => s.consume({ key: i % 4000, window: '1m', limit: 3 })));
    const ok = all.filter((r) => r.status === 'fulfilled' && r.value.allowed).length;
    const failed = all.filter((r) => r.status === 'rejected');
    console.log(t, ok, failed.length, String((failed[0] as any)?.reason), performance.now() - start);
  }
});
