import type { FreqLimitOptions } from 'nestjs-freq-limit';
import { startTypeScript } from '../support/typescript-process.js';

const PROCESS = new URL('debug-log-process.ts', import.meta.url);
const PHONE = '13800000000';

/** The lines that a process of its own writes to stderr, without the name and the process id in front. */
async function linesOf(
  bodies: readonly object[],
  { NODE_DEBUG = 'freq-limit', ...limits }: FreqLimitOptions & { readonly NODE_DEBUG?: string } = {},
): Promise<{ readonly statuses: unknown; readonly lines: string[] }> {
  const run = startTypeScript(PROCESS, [JSON.stringify({ limits, bodies })], { NODE_DEBUG });
  let errors = '';
  run.process.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  try {
    const statuses = await run.nextMessage();
    await run.stop();
    const prefix = `FREQ-LIMIT ${run.process.pid}: `;
    const lines = errors.split('\n').filter((line) => line !== '');
    return { statuses, lines: lines.map((line) => line.replace(prefix, '')) };
  } finally {
    await run.stop();
  }
}

describe('NODE_DEBUG=freq-limit', () => {
  it('prints the plan of each handler, and the checks and the verdict of each request, in one line each', async () => {
    const forging = [
      '1\nFREQ-LIMIT 1: forged',
      '1 FREQ-LIMIT 1: forged',
      '%s%j',
      '\u2028forged',
      'x'.repeat(900),
    ];
    const bodies = [{ phone: PHONE }, { phone: PHONE }, {}, ...forging.map((phone) => ({ phone }))];
    const { statuses, lines } = await linesOf(bodies);
    expect(statuses).toEqual([200, 429, 400, ...forging.map(() => 200)]);
    const place = '@FreqLimit on SmsController.send';
    expect(lines.slice(0, 7)).toEqual([
      `SmsController.send plan: "phone" 1 per 1m by "phone:{body.phone}", scope handler, from ${place}, cost 1, onMissingKey deny, onStoreError memory`,
      `SmsController.send plan: "limit" 100 per a function by "all", scope handler, from ${place}, cost 1, onMissingKey ip, onStoreError memory, countDenied, countWhen`,
      expect.stringMatching(
        /^#1 SmsController\.send checks: "phone" cost 1, limit 1 per 1m, key fl:SmsController\.send\.phone~\S+:60000:phone:13800000000; "limit" cost 1, limit 100 per 1h, key \S+$/,
      ),
      expect.stringMatching(
        /^#1 SmsController\.send verdict: allowed, source store; "phone" allowed, used 1 of 1, resetAfterMs \d+; "limit" allowed, used 1 of 100, resetAfterMs \d+$/,
      ),
      expect.stringMatching(/^#2 SmsController\.send checks: "phone" /),
      expect.stringMatching(
        /^#2 SmsController\.send verdict: denied, source store; "phone" denied, retryAfterMs \d+, used 1 of 1, resetAfterMs \d+; "limit" allowed, used 2 of 100, resetAfterMs \d+$/,
      ),
      '#3 SmsController.send checks: rule "phone" denies the request, a value is missing',
    ]);
    // nothing that a client sends adds a line, or appears as it is
    expect(lines).toHaveLength(7 + 2 * forging.length);
    expect(lines.join('\n')).not.toContain('forged');
    for (const line of lines) expect(line).toMatch(/^(#\d+ )?SmsController\.send (plan|checks|verdict): /);
  });

  it('says how each kind of counter counts, and which block denies', async () => {
    const { lines } = await linesOf([{ phone: PHONE }, { phone: '2' }], {
      rules: [
        { name: 's', window: '1m', limit: 9, key: 'all', algorithm: 'sliding-window' },
        { name: 'b', window: '1m', limit: 9, key: 'all', algorithm: 'token-bucket', burst: 20 },
        {
          name: 'c',
          window: { calendar: 'month', timeZone: 'Asia/Tokyo', startsAt: 15 },
          limit: 9,
          key: 'all',
        },
        { name: 'x', window: '1m', limit: 1, key: 'all', blockFor: ['5m', '1h'], forgiveAfter: '2d' },
      ],
    });
    const plans = lines.filter((line) => line.includes(' plan: '));
    expect(
      plans.map((line) => line.replace(/^.* plan: /, '').replace(/ scope .*from rules\[\d\] of \w+,/, '')),
    ).toEqual(
      expect.arrayContaining([
        '"s" 9 per 1m by "all", sliding-window, cost 1, onMissingKey ip, onStoreError memory',
        '"b" 9 per 1m by "all", token-bucket, burst 20, cost 1, onMissingKey ip, onStoreError memory',
        '"c" 9 per month from day 15, Asia/Tokyo by "all", cost 1, onMissingKey ip, onStoreError memory',
        '"x" 1 per 1m by "all", blocked for 5m, then 1h, forgiven after 2d, cost 1, onMissingKey ip, onStoreError memory',
      ]),
    );
    const [checks = ''] = lines.filter((line) => line.startsWith('#1') && line.includes(' checks: '));
    expect(checks).toMatch(/"s" cost 1, limit 9 per 1m, sliding-window, key fl:app\.s~\S+:60000s:all;/);
    expect(checks).toMatch(
      /"b" cost 1, limit 9 per 1m, token-bucket, burst 20, key fl:app\.b~\S+:60000b:all;/,
    );
    expect(checks).toMatch(
      /"c" cost 1, limit 9 per \d+d until \S+Z, key fl:app\.c~\S+:month\+15@asia\/tokyo:all;/,
    );
    const [denial = ''] = lines.filter((line) => line.startsWith('#2') && line.includes(' verdict: '));
    expect(denial).toMatch(/"x" denied by a block, retryAfterMs 300000, used 1 of 1, resetAfterMs 300000/);
  });

  it('shows keys only as hashes with hashKeys, as the store has them', async () => {
    const secret = 'a secret of the application';
    const { lines } = await linesOf([{ phone: PHONE }], { hashKeys: { secret } });
    expect(lines.join('\n')).not.toContain(PHONE);
    expect(lines.join('\n')).not.toContain(secret);
    expect(lines[2]).toMatch(/key fl:SmsController\.send\.phone~\S+:60000:#[\w-]{22};/);
  });

  it('prints nothing if it is not set', async () => {
    const { statuses, lines } = await linesOf([{ phone: PHONE }], { NODE_DEBUG: '' });
    expect([statuses, lines]).toEqual([[200], []]);
  });
});
