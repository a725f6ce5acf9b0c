import { jest } from '@jest/globals';
import type { Check } from '../../../src/core/check.js';
import type { Store } from '../../../src/core/store.js';
import { NamedCharges, NO_CHARGE, NO_CHARGES } from '../../../src/decisions/charge.js';
import { RequestCharges } from '../../../src/decisions/request-charges.js';
import { check } from '../../support/check.js';
import { captureLog } from '../../support/log.js';
import { result, thrownBy } from '../fixtures.js';

const log = captureLog();

/** A store that notes what it settles. */
function noted() {
  const calls: [string, number][][] = [];
  const settle = jest.fn<Store['settle']>((checks, results, costs) => {
    calls.push(checks.map(({ name }, i) => [name, costs[i]!]));
    return results.map((one, i) => ({ ...one, used: costs[i]! }));
  });
  return { calls, settle, store: { settle } as unknown as Store };
}

const CHECKS = [check('input', { cost: 100 }), check('output', { cost: 50 }), check('requests')];

function chargesOf(checks: readonly Check[] = CHECKS, awaitsOutcome = false) {
  const seen: (number | undefined)[][] = [];
  const { calls, settle, store } = noted();
  const results = checks.map(({ name, cost }) => result({ name, cost, used: cost }));
  const charges = new RequestCharges(store, { checks, results }, awaitsOutcome, (after) => {
    seen.push(after.map(({ used }) => used));
  });
  const names = [...new Set(checks.map(({ name }) => name)), 'skipped'];
  const words = () => ({ thing: 'rule', place: 'ChatController.ask' });
  return { charges, named: new NamedCharges(names, charges, words), calls, seen, settle };
}

describe('a charge', () => {
  it('shows what was charged, and settles the real cost once', async () => {
    const { named, calls, seen } = chargesOf();
    const charge = named.of('input');
    expect(charge.cost).toBe(100);
    await charge.settle(40);
    await charge.settle(90);
    await named.of('input').settle(90);
    expect(calls).toEqual([[['input', 40]]]);
    expect(seen).toEqual([[40, 50, 1]]);
  });

  it('can be destructured', async () => {
    const { named, calls } = chargesOf();
    const { settle } = named.of('input');
    await settle(0);
    expect(calls).toEqual([[['input', 0]]]);
  });

  it('sends nothing if the estimate was right, and is settled then', async () => {
    const { named, calls } = chargesOf();
    await named.of('input').settle(100);
    await named.of('input').settle(40);
    expect(calls).toEqual([]);
  });

  it('of a rule that was skipped has no cost, and settles nothing', async () => {
    const { named, calls } = chargesOf();
    // one whose rule the plan has, and one that it has not
    for (const charge of [named.of('skipped'), named.of('skipped by its decorator')]) {
      await charge.settle(40);
      expect([charge.cost, calls]).toEqual([0, []]);
    }
  });

  it.each<[unknown, string]>([
    [1.5, '1.5 is not a whole number from 0 to 2^53 - 1; round it up with Math.ceil(…)'],
    [-1, '-1 is not a whole number from 0 to 2^53 - 1'],
    [NaN, 'NaN is not a whole number from 0 to 2^53 - 1'],
    [Infinity, 'Infinity is not a whole number from 0 to 2^53 - 1'],
    [2 ** 53, '9007199254740992 is not a whole number from 0 to 2^53 - 1; round it up with Math.ceil(…)'],
    [undefined, 'undefined is not a whole number from 0 to 2^53 - 1'],
    [
      '40',
      '"40" is not a whole number from 0 to 2^53 - 1; it is a string, perhaps from the environment: write Number(…)',
    ],
  ])('refuses %p at once, and settles nothing', (cost, problem) => {
    const { named, calls } = chargesOf();
    for (const name of ['input', 'skipped']) {
      const error = thrownBy(() => named.of(name).settle(cost as number));
      expect([error.code, error.message]).toEqual([
        'FREQ_LIMIT_INVALID_CHECK',
        `ChatController.ask: settle: rule "${name}": ${problem}`,
      ]);
    }
    expect(calls).toEqual([]);
  });
});

describe('the charges of all rules', () => {
  it('are settled in one call', async () => {
    const { named, calls, seen } = chargesOf();
    const charges = named.all();
    expect(charges.costs).toEqual({ input: 100, output: 50, requests: 1, skipped: 0 });
    await charges.settle({ output: 60, input: 40, skipped: 5 });
    expect(calls).toEqual([
      [
        ['output', 60],
        ['input', 40],
      ],
    ]);
    expect(seen).toEqual([[40, 60, 1]]);
  });

  it('settle all checks that share a name', async () => {
    const { named, calls } = chargesOf([check('a', { name: 'tokens' }), check('b', { name: 'tokens' })]);
    await named.all().settle({ tokens: 7 });
    expect(calls).toEqual([
      [
        ['tokens', 7],
        ['tokens', 7],
      ],
    ]);
  });

  it.each<[unknown, string]>([
    [
      { inputs: 5 },
      'no rule has the name "inputs"; did you mean input?; existing names: input, output, requests, skipped',
    ],
    [{ money: 5 }, 'no rule has the name "money"; existing names: input, output, requests, skipped'],
    [
      { input: 5, output: 0.5 },
      'rule "output": 0.5 is not a whole number from 0 to 2^53 - 1; round it up with Math.ceil(…)',
    ],
    [5, '5 is not an object; write settle({ input: 1 })'],
    [null, 'null is not an object; write settle({ input: 1 })'],
    [[5], '[list of 1] is not an object; write settle({ input: 1 })'],
  ])('refuse %j at once, and settle nothing', (costs, problem) => {
    const { named, calls } = chargesOf();
    const error = thrownBy(() => named.all().settle(costs as Record<string, number>));
    expect(error.message).toBe(`ChatController.ask: settle: ${problem}`);
    expect(calls).toEqual([]);
  });
});

describe('while the outcome is awaited', () => {
  it('what the handler settles goes in one call with what the outcome decides', async () => {
    const { charges, named, calls } = chargesOf(CHECKS, true);
    await named.of('input').settle(40);
    expect(calls).toEqual([]);
    expect([0, 1, 2].map((i) => charges.isSettled(i))).toEqual([true, false, false]);
    await charges.finish((i, settled) => settled ?? (i === 2 ? 0 : undefined));
    expect(calls).toEqual([
      [
        ['input', 40],
        ['requests', 0],
      ],
    ]);
  });

  it('what the handler settles afterwards is sent at once', async () => {
    const { charges, named, calls, seen } = chargesOf(CHECKS, true);
    await charges.finish(() => undefined);
    await named.of('output').settle(60);
    expect(calls).toEqual([[['output', 60]]]);
    expect(seen).toEqual([[100, 60, 1]]);
  });

  it('what was sent already is not sent again', async () => {
    const { charges, named, calls } = chargesOf();
    await named.of('input').settle(40);
    await charges.finish(() => 0);
    expect(calls.slice(1)).toEqual([
      [
        ['output', 0],
        ['requests', 0],
      ],
    ]);
  });

  it('the results of all settlements are shown together', async () => {
    const { charges, named, seen } = chargesOf(CHECKS, true);
    await charges.finish((i) => (i === 2 ? 0 : undefined));
    await named.of('input').settle(40);
    expect(seen).toEqual([
      [100, 50, 0],
      [40, 50, 0],
    ]);
  });
});

it.each<[Record<string, number>, string]>([
  [{ input: 0, output: 0 }, 'Refund failed; the request stays counted: gone'],
  [{ input: 0, output: 90 }, 'Settlement failed; the request stays charged as it was: gone'],
])('a store that fails is logged once: %j', async (costs, line) => {
  const { named, settle } = chargesOf();
  settle.mockImplementation(() => {
    throw new Error('gone');
  });
  await named.all().settle(costs);
  expect(log.withCode('FREQ_LIMIT_REFUND_FAILED')).toEqual([`FREQ_LIMIT_REFUND_FAILED: ${line}`]);
});

it('without a rule there is nothing to settle', async () => {
  await NO_CHARGE.settle(5);
  await NO_CHARGES.settle({ any: 5 });
  expect([NO_CHARGE.cost, NO_CHARGES.costs]).toEqual([0, {}]);
});
