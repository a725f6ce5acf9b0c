import { Controller, Get, type LoggerService } from '@nestjs/common';
import { FreqLimit } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { uniqueNamespace } from '../support/redis.js';
import { freePort, startServer } from '../support/server.js';

@Controller()
class Limited {
  @Get()
  @FreqLimit('1h', 2)
  get() {
    return 'ok';
  }
}

const failed: string[] = [];

/** A logger that fails for each line of the library. */
function write(line: unknown): void {
  const [code] = /FREQ_LIMIT_\w+/.exec(String(line)) ?? [];
  if (code === undefined) return;
  failed.push(code);
  throw new Error('the log is full');
}

const FAILING: LoggerService = { log: write, warn: write, error: write };

beforeEach(() => {
  failed.length = 0;
});
afterEach(closeApps);

describe.each(PLATFORMS)('a logger that throws, on %s', (platform) => {
  async function start(redis: string): Promise<() => Promise<Response>> {
    const limits = { redis, namespace: uniqueNamespace() };
    const parts = { limits, controllers: [Limited] };
    const { url } = await startApp(platform, parts, undefined, undefined, { logger: FAILING });
    return () => fetch(url);
  }

  it('changes no answer while Redis is down', async () => {
    const send = await start(`redis://127.0.0.1:${await freePort()}`);
    expect(await statuses(3, send)).toEqual([200, 200, 429]);
    expect(failed).toContain('FREQ_LIMIT_STORE_UNAVAILABLE');
  });

  it('changes no answer on a full server', async () => {
    const server = await startServer(['--maxmemory', '1', '--maxmemory-policy', 'noeviction']);
    try {
      const send = await start(server.url);
      expect(await statuses(3, send)).toEqual([200, 200, 429]);
      expect(failed).toContain('FREQ_LIMIT_STORE_FULL');
    } finally {
      await closeApps();
      await server.stop();
    }
  });
});
