import { ImportsWorker } from '../../examples/concurrency/imports.worker.js';
import { ReportsController } from '../../examples/concurrency/reports.controller.js';
import { RoomGateway } from '../../examples/concurrency/room.gateway.js';
import { closeApps, PLATFORMS, startApp } from '../support/app.js';
import { startWithUsers } from '../support/example-app.js';
import { slotsOf, untilTaken, Work } from '../support/slots.js';
import { closeClients, connect, LIBRARIES, startGateways } from '../support/sockets.js';

const work = new Work();

afterEach(async () => {
  work.finish();
  closeClients();
  await closeApps();
});

describe('the examples of concurrency', () => {
  it.each(PLATFORMS)('let two downloads of a user run, %s', async (platform) => {
    const parts = { controllers: [ReportsController] };
    const { app, url } = await startWithUsers(platform, 'memory', { namespace: '' }, parts);
    const download = (user: string) => fetch(`${url}/reports/download`, { headers: { authorization: user } });
    for (let i = 0; i < 20; i++) {
      const response = await download('ada');
      expect([response.status, (await response.text()).slice(0, 6)]).toEqual([200, 'import']);
      await untilTaken(app, slotsOf(ReportsController, 'download', 'downloads', 'ada'), 0);
    }
    for (const [user, status] of [
      ['ada', 429],
      ['bob', 200],
    ] as const) {
      const response = await download(user);
      await response.text();
      expect(response.status).toBe(status);
    }
  });

  it.each(LIBRARIES)('let three connections of %s listen', async (library) => {
    const { url } = await startGateways('express', library, [RoomGateway]);
    for (let i = 0; i < 3; i++) {
      const client = await connect(library, url);
      expect(await client.request('listen')).toEqual({ event: 'listening', data: true });
      expect(await client.request('listen')).toEqual({ event: 'listening', data: true });
    }
    const fourth = await connect(library, url);
    expect(await fourth.request('listen')).toMatchObject({ event: 'exception' });
  });

  it('run three imports of a tenant at once', async () => {
    const { app } = await startApp('express', { providers: [ImportsWorker] });
    const worker = app.get(ImportsWorker);
    const running = Array.from({ length: 3 }, () => worker.tryImport('acme', ['a'], () => work.run()));
    await work.untilRunning(3);
    expect(await worker.tryImport('acme', ['a'], () => work.run())).toBe(false);
    expect(await worker.tryImport('tiny', [], () => work.run())).toBe(true);
    work.finish();
    expect(await Promise.all(running)).toEqual([true, true, true]);
    await untilTaken(app, { name: 'imports', key: 'acme', concurrency: 3 }, 0);
  });
});
