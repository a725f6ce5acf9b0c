import { Test } from '@nestjs/testing';
import { cluster, sentinel } from '../../examples/options/redis.js';
import { AppModule } from '../../examples/quick-start/app.module.js';
import { Mails } from '../../examples/service/mails.js';
import { FreqLimitModule } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { closeApps, serve, statuses } from '../support/app.js';
import { post } from '../support/http.js';

afterEach(closeApps);

describe('the example of the service', () => {
  const start = () =>
    serve('express', { imports: [AppModule], providers: [Mails] }, (builder) =>
      useMemoryStore(builder, new TestClock()),
    );

  it('charges two limits of a tenant together, and reads one', async () => {
    const { app } = await start();
    const mails = app.get(Mails);
    for (let i = 0; i < 500; i++) expect(await mails.maySend('acme')).toBe(true);
    expect(await mails.maySend('acme')).toBe(false);
    expect(await mails.maySend('tiny')).toBe(true);
    expect([await mails.sentToday('acme'), await mails.sentToday('tiny')]).toEqual([500, 1]);
  });

  it('resets the counter of one user', async () => {
    const { app, url } = await start();
    const guess = (user: string) => () => post(`${url}/login`, { user, password: 'guess' });
    for (const user of ['ann', 'bob']) expect(await statuses(6, guess(user))).toContain(429);
    await app.get(Mails).unlock('ann', '127.0.0.1');
    expect([await statuses(1, guess('ann')), await statuses(1, guess('bob'))]).toEqual([[401], [429]]);
  });
});

it.each([
  ['Sentinel', sentinel],
  ['Cluster', cluster],
])('the options for a %s are valid', async (_, options) => {
  const builder = Test.createTestingModule({ imports: [FreqLimitModule.forRoot(options)] });
  const module = await useMemoryStore(builder).compile();
  await expect(module.init()).resolves.toBe(module);
  await module.close();
});
