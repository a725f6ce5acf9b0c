import {
  defineRule,
  FreqLimit,
  FreqLimitCharge,
  type FreqLimitCharges,
  type FreqLimitCheck,
  type FreqLimitRule,
  type FreqLimitService,
  type SettleableVerdict,
  type Verdict,
} from '../../src/index.js';

/* Compiled, never run: a typo in the options of a real cost does not compile. */

const RULE = { window: '1m', limit: 1_000 } as const;

export const right: FreqLimitRule[] = [
  { ...RULE, cost: 100, actualCost: ({ result }) => (result as { tokens: number }).tokens },
  { ...RULE, cost: () => 100, actualCost: async ({ statusCode = 200 }) => statusCode, maxShare: 0.5 },
  { ...RULE, algorithm: 'token-bucket', burst: 5, actualCost: () => 1, maxShare: 1 },
  { window: { calendar: 'month' }, limit: 5, actualCost: () => 1, maxShare: 0.1, countWhen: 'success' },
  { ...RULE, actualCost: undefined, maxShare: undefined },
];

export const wrong: FreqLimitRule[] = [
  // @ts-expect-error -- actualCost is misspelled
  { ...RULE, actualcost: () => 1 },
  // @ts-expect-error -- a real cost is a function
  { ...RULE, actualCost: 5 },
  // @ts-expect-error -- a real cost is a number
  { ...RULE, actualCost: () => '5' },
  // @ts-expect-error -- a function without a result
  { ...RULE, actualCost: () => undefined },
  // @ts-expect-error -- a share is a number
  { ...RULE, maxShare: '50%' },
  // @ts-expect-error -- maxShare is misspelled
  { ...RULE, maxshare: 0.5 },
];

export const decorators = [
  FreqLimit({ ...RULE, cost: 100, actualCost: () => 1 }),
  FreqLimit('named', { actualCost: () => 1, maxShare: 0.5 }),
  defineRule({ ...RULE, cost: '100', actualCost: () => 1, maxShare: 0.5 }),
  // @ts-expect-error -- maxShare is misspelled
  FreqLimit('named', { maxshare: 0.5 }),
  FreqLimitCharge(),
  FreqLimitCharge('tokens'),
  // @ts-expect-error -- a rule has a name
  FreqLimitCharge(5),
  // @ts-expect-error -- one name, or none
  FreqLimitCharge('tokens', 'money'),
];

export class Handlers {
  async ask(@FreqLimitCharge('tokens') charge: FreqLimitCharge): Promise<number> {
    const { settle, cost } = charge;
    await settle(812);
    // @ts-expect-error -- a cost is a number
    await charge.settle('812');
    return cost;
  }

  async askAll(@FreqLimitCharge() { settle, costs }: FreqLimitCharges): Promise<number | undefined> {
    await settle({ input: 812, output: 90 });
    // @ts-expect-error -- costs by name
    await settle(812);
    return costs['input'];
  }
}

export async function work(limits: FreqLimitService, check: FreqLimitCheck): Promise<Verdict> {
  const settleable: SettleableVerdict = await limits.consume(check, { settle: true });
  await settleable.settle(5);
  await settleable.settle({ tokens: 5 });
  // @ts-expect-error -- there is nothing to settle without the option
  (await limits.consume(check)).settle(5);
  // @ts-expect-error -- the option is misspelled
  await limits.consume(check, { settles: true });
  // @ts-expect-error -- only rules have it
  await limits.consume({ key: 'ann', window: '1m', limit: 5, actualCost: () => 1 });
  return limits.consume(check, { settle: false });
}
