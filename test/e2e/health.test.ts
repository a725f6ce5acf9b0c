import { Controller, Get } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { FreqLimit } from 'nestjs-freq-limit';
import { HealthController } from '../../examples/http/health.js';
import { closeApps, PLATFORMS, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { captureLog } from '../support/log.js';
import { freePort, type Server, startServer } from '../support/server.js';

captureLog();
let server: Server | undefined;
afterEach(async () => {
  await closeApps();
  await server?.stop();
  server = undefined;
});

@Controller()
class Limited {
  @Get()
  @FreqLimit('1m', 2)
  get() {
    return 'ok';
  }
}

const CHECKS = ['live', 'ready', 'limits'] as const;

/** What a probe sees: the status, and the state of the limiter. */
async function probe(url: string, check: (typeof CHECKS)[number]): Promise<unknown[]> {
  const response = await fetch(`${url}/health/${check}`);
  const { status, details } = (await response.json()) as {
    status: string;
    details: { freqLimit?: unknown };
  };
  return [response.status, status, details.freqLimit];
}

const UP = { status: 'up', store: 'redis' };
const DEGRADED = { status: 'up', store: 'redis', isDegraded: true, since: expect.stringMatching(/Z$/) };

describe.each(PLATFORMS)('the health checks of @nestjs/terminus on %s', (platform) => {
  it('stay good in an outage that the application survives, except the one for monitoring', async () => {
    const port = await freePort();
    const { url } = await startApp(platform, {
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController, Limited],
      limits: { redis: `redis://127.0.0.1:${port}` },
    });
    expect(await probe(url, 'live')).toEqual([200, 'ok', undefined]);
    expect(await probe(url, 'ready')).toEqual([200, 'ok', DEGRADED]);
    expect(await probe(url, 'limits')).toEqual([503, 'error', { ...DEGRADED, status: 'down' }]);
    // the application limits in memory meanwhile
    const statuses = [await fetch(url), await fetch(url), await fetch(url)].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 429]);

    server = await startServer([], port);
    // no request but the probes: they let the limiter try the server again
    await until(async () => (await probe(url, 'limits'))[0] === 200, 10_000);
    expect(await Promise.all(CHECKS.map((check) => probe(url, check)))).toEqual([
      [200, 'ok', undefined],
      [200, 'ok', UP],
      [200, 'ok', UP],
    ]);
  });
});
