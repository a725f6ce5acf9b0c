import { Controller, Get } from '@nestjs/common';
import { FreqLimit, type FreqLimitCheck, FreqLimitService, type SettleableVerdict } from 'nestjs-freq-limit';
import { startApp } from '../support/app.js';
import { KINDS, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();
const log = captureLog();

@Controller()
class Chat {
  @Get()
  @FreqLimit({
    name: 'tokens',
    window: '1d',
    limit: 1_000,
    key: '{user.id}',
    cost: 100,
    actualCost: () => 40,
    maxShare: 0.5,
  })
  @FreqLimit({ name: 'bucket', window: '1d', limit: 1_000, key: '{user.id}', algorithm: 'token-bucket' })
  ask() {
    return 'ok';
  }
}

const rule = (name: string, key = 'ann') => ({ rule: name, controller: Chat, handler: 'ask', key }) as const;
const bytes = { name: 'bytes', key: 'ann', window: '1d', limit: 1_000, cost: 100 } as const;
const jobs = { name: 'jobs', key: 'ann', window: '1d', limit: 10 } as const;

describe.each(KINDS)('consume with settle in %s', (kind) => {
  let limits: FreqLimitService;
  beforeEach(async () => {
    const { app } = await startApp('express', { controllers: [Chat], limits: limitsIn(kind, suite) });
    limits = app.get(FreqLimitService);
  });

  const consume = (checks: FreqLimitCheck | FreqLimitCheck[]): Promise<SettleableVerdict> =>
    limits.consume(checks, { settle: true });
  const used = async (check: FreqLimitCheck) => (await limits.peek(check)).results[0]?.used;

  it('settles one check once', async () => {
    const { allowed, settle } = await consume(bytes);
    expect(allowed).toBe(true);
    await settle(40);
    await settle(900);
    expect(await used(bytes)).toBe(40);
    const second = await consume(bytes);
    await second.settle(2_000);
    expect(await used(bytes)).toBe(2_040);
    expect((await limits.consume(bytes)).allowed).toBe(false);
  });

  it('settles several checks by name, in one call', async () => {
    const verdict = await consume([bytes, jobs, { ...bytes, key: 'all' }]);
    await verdict.settle({ bytes: 7 });
    expect([await used(bytes), await used({ ...bytes, key: 'all' }), await used(jobs)]).toEqual([7, 7, 1]);
    await verdict.settle({ bytes: 9, jobs: 0 });
    expect([await used(bytes), await used(jobs)]).toEqual([7, 0]);
  });

  it('settles the counters of rules', async () => {
    const verdict = await consume([rule('tokens'), rule('bucket')]);
    await verdict.settle({ tokens: 812, bucket: 9 });
    expect([await used(rule('tokens')), await used(rule('bucket'))]).toEqual([812, 9]);
  });

  it('changes nothing about the verdict', async () => {
    const { settle, ...verdict } = await consume(bytes);
    expect(verdict).toEqual({
      allowed: true,
      source: 'store',
      tightest: verdict.results[0],
      results: [expect.objectContaining({ name: 'bytes', used: 100 })],
    });
    await settle(5);
    expect(verdict.results[0]?.used).toBe(100);
    expect(Object.keys(await limits.consume(bytes))).not.toContain('settle');
    expect(Object.keys(await limits.consume(bytes, { settle: false }))).not.toContain('settle');
  });

  it('has nothing to settle of a denied or an empty call', async () => {
    await limits.consume({ ...bytes, cost: 1_000 });
    const denied = await consume(bytes);
    expect(denied.allowed).toBe(false);
    await denied.settle(0);
    expect(await used(bytes)).toBe(1_000);
    await (await consume([])).settle(5);
    await (await consume([])).settle({});
  });

  it('applies maxShare of a rule', async () => {
    const denied = await consume({ ...rule('tokens'), cost: 501 });
    expect(denied).toMatchObject({
      allowed: false,
      tightest: { aboveMaxShare: true, limit: 1_000, used: 0 },
    });
    expect(await limits.peek({ ...rule('tokens'), cost: 501 })).toMatchObject({
      allowed: false,
      tightest: { aboveMaxShare: true },
    });
    expect((await consume({ ...rule('tokens'), cost: 500 })).allowed).toBe(true);
  });

  it.each<[unknown, string]>([
    [
      { byte: 5 },
      'consume: settle: no check has the name "byte"; did you mean bytes?; existing names: bytes, jobs',
    ],
    [5, 'consume: settle: 5 is one cost for 2 checks; write settle({ bytes: 5 })'],
    [
      { jobs: 1.5 },
      'consume: settle: check "jobs": 1.5 is not a whole number from 0 to 2^53 - 1; round it up with Math.ceil(…)',
    ],
    ['5', 'consume: settle: "5" is not an object; write settle({ bytes: 1 })'],
  ])('refuses the costs %j', async (costs, message) => {
    const verdict = await consume([bytes, jobs]);
    const settle = async () => verdict.settle(costs as number);
    await expect(settle()).rejects.toThrow(message);
    await expect(settle()).rejects.toThrow(expect.objectContaining({ code: 'FREQ_LIMIT_INVALID_CHECK' }));
    expect([await used(bytes), await used(jobs)]).toEqual([100, 1]);
  });

  it.each<[unknown, string]>([
    [5, 'consume: takes one argument; write several checks as a list'],
    ['bytes', 'consume: takes one argument; write several checks as a list'],
    [jobs, 'consume: takes one argument; write several checks as a list'],
    [{ settles: true }, 'consume: options: settles: is not an option; did you mean settle?'],
    [
      { settle: 'yes' },
      'consume: options: settle: "yes" is not true or false; it is a string, perhaps from the environment: write … === \'true\'',
    ],
  ])('refuses the options %j', async (options, message) => {
    const run = limits.consume(bytes, options as never);
    await expect(run).rejects.toThrow(message);
    await expect(run).rejects.toThrow(expect.objectContaining({ code: 'FREQ_LIMIT_INVALID_CHECK' }));
    expect(await used(bytes)).toBe(0);
  });

  it.each([
    ['actualCost', () => 1],
    ['settle', true],
  ])('says how to settle if a check has %s', async (option, value) => {
    const run = limits.consume({ ...bytes, [option]: value });
    await expect(run).rejects.toThrow(
      `consume: check: ${option}: is not an option; call consume(check, { settle: true }), and then settle(cost) of its verdict`,
    );
  });

  it('logs nothing', async () => {
    log.clear();
    await (await consume(bytes)).settle(5);
    expect(log.lines).toEqual([]);
  });
});
