import { keysOf, plainClient, sweep } from '../support/redis.ts';
import type { Consumer } from './consumer.ts';
import type { Ended } from './run.ts';

/** A process that succeeded without output on stderr. */
export const SILENT: Ended = { code: 0, stdout: '', stderr: '' };

export async function expectCleanInstall(consumer: Consumer): Promise<void> {
  const { code, stderr } = consumer.installed;
  expect({ code, conflicts: /.*(ERESOLVE|peer).*/i.exec(stderr)?.[0] }).toEqual({
    code: 0,
    conflicts: undefined,
  });
  const faults = await consumer.faults();
  expect({ code: faults.code, stderr: faults.stderr }).toEqual({ code: 0, stderr: '' });
}

/** The report of a process that ended by itself, with code 0 and without a warning. */
export function expectReport(ended: Ended): unknown {
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ended.stdout);
}

/** The answers of consumers/shared/src/app.ts: two requests a phone, four in total, and one of the service. */
export function expectLimits(answers: unknown): void {
  expect(answers).toMatchObject({
    codes: [
      {
        status: 201,
        headers: { 'ratelimit-policy': '"1m";q=4;w=60, "code";q=2;w=3600' },
        body: { to: '1' },
      },
      { status: 201, body: { to: '1' } },
      { status: 429, headers: { ratelimit: expect.stringContaining('"code";a=0;w=') } },
      { status: 201, body: { to: '2' } },
      { status: 201, body: { to: '2' } },
      { status: 429 },
      { status: 429, headers: { 'retry-after': expect.stringMatching(/^(60|5\d)$/) } },
    ],
    free: [
      { status: 200, body: { allowed: true } },
      { status: 200, body: { allowed: false } },
    ],
  });
}

/** The same answers, with the exceptions that a copy of the package recognizes as denials. */
export function expectDenialsKnown(answers: unknown): void {
  const { codes, free } = answers as {
    codes: { status: number; body: unknown }[];
    free: { body: unknown }[];
  };
  expect(codes.map(({ status }) => status)).toEqual([201, 201, 429, 201, 201, 429, 429]);
  expect(codes.filter(({ status }) => status === 429).map(({ body }) => body)).toEqual([
    { denied: true },
    { denied: true },
    { denied: true },
  ]);
  expect(free.map(({ body }) => body)).toEqual([{ allowed: true }, { allowed: false }]);
}

/** Expects that `import` and `require` gave the same exports. */
export function expectOneCopy(report: unknown): void {
  const { names, differing } = report as { names: number; differing: string[] };
  expect(names).toBeGreaterThan(5);
  expect(differing).toEqual([]);
}

/** Expects counters of this namespace in Redis, all with an expiry. */
export async function expectCounters(namespace: string): Promise<void> {
  const client = plainClient();
  try {
    expect((await keysOf(client, namespace)).length).toBeGreaterThan(0);
    expect(await sweep(client, namespace)).toEqual([]);
  } finally {
    await client.quit();
  }
}
