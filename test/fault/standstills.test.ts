import { setTimeout as sleep } from 'node:timers/promises';
import { startTypeScript } from '../support/typescript-process.js';
import { writeTable } from './fault-table.js';
import { breaches, type Row } from './harness.js';
import { faultOf, type Pause, ROUND_TRIPS_MS, SOAK_SECONDS, STANDSTILLS } from './standstills.js';

const PROCESS = new URL('standstill-process.ts', import.meta.url);

const rows: Row[] = [];

afterAll(() => writeTable(rows));

describe('a blocked or stopped process', () => {
  it.concurrent.each(STANDSTILLS)(
    'does not open the breaker, and decides all requests by the server: $name',
    async (standstill) => {
      const own = await Promise.all(ROUND_TRIPS_MS.map((roundTripMs) => rowOf(standstill.name, roundTripMs)));
      rows.push(...own);
      const { expected } = faultOf(standstill, 0);
      expect(own.map((row) => breaches(row, expected))).toEqual(ROUND_TRIPS_MS.map(() => []));
    },
    SOAK_SECONDS * 2_000 + 60_000,
  );
});

/** The load runs in its own process, which is stopped on its request. */
async function rowOf(name: string, roundTripMs: number): Promise<Row> {
  const child = startTypeScript(PROCESS, [name, String(roundTripMs)]);
  try {
    for (;;) {
      const message = (await child.nextMessage()) as Row | Pause;
      if (!('pauseMs' in message)) return message;
      child.process.kill('SIGSTOP');
      await sleep(message.pauseMs);
      child.process.kill('SIGCONT');
      child.process.send('goes on');
    }
  } finally {
    await child.stop();
  }
}
