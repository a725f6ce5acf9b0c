import { FreqLimitService } from 'nestjs-freq-limit';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeApps, startApp } from '../support/app.js';
import { captureLog, logLine } from '../support/log.js';
import { type OddServer, startOddServer } from '../support/odd-server.js';
import { uniqueNamespace } from '../support/redis.js';

const { lines } = captureLog();
let server: OddServer | undefined;

afterEach(async () => {
  await closeApps();
  await server?.stop();
});

describe('a server that accepts connections and answers no script', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['closes the connection', (socket) => void socket.destroy()],
    ['resets the connection', (socket) => void socket.resetAndDestroy()],
    ['answers in another protocol', (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['answers nonsense', (socket) => void socket.write('*0\r\n')],
  ])('is no longer called, with one log line, if it %s', async (_, onScript) => {
    server = await startOddServer(onScript);
    const limits = { namespace: uniqueNamespace(), redis: server.url, timeoutMs: 5_000 };
    const { app } = await startApp('express', { limits });
    const service = app.get(FreqLimitService);
    const charge = async (key: string): Promise<string | undefined> =>
      (await service.consume({ key, window: '1h', limit: 5 })).source;
    for (let i = 0; service.health().isUp && i < 2_000; i++) {
      expect(await charge(`a${i}`)).toBe('memory');
      await sleep(2);
    }
    expect(service.health()).toMatchObject({ isUp: false });
    // connections come and go in the meantime, which proves nothing about scripts
    const before = server.scripts;
    for (let i = 0; i < 200; i++) {
      expect(await charge(`b${i}`)).toBe('memory');
      await sleep(2);
    }
    expect(server.scripts - before).toBeLessThan(20);
    expect(lines).toEqual([logLine('FREQ_LIMIT_STORE_UNAVAILABLE', 'Redis is unavailable')]);
  });
});
