import type { ExecutionContext } from '@nestjs/common';
import type { Check } from '../../../src/core/check.js';
import { BY_ADDRESS, NO_ADDRESS } from '../../../src/core/counter-key.js';
import { type Plan, planOf } from '../../../src/rules/plan.js';
import { type MissingKey, toChecks } from '../../../src/rules/to-checks.js';
import { CONTEXT, DEFAULTS, declared, OWNER, requestOf } from '../fixtures.js';

const REQUEST = requestOf({ body: { phone: '13800000000' } }, '203.0.113.7');

function plan(...rules: readonly object[]): Plan {
  const level = {
    rules: rules.map((rule) => declared({ window: '1m', limit: 5, ...rule })),
    skip: undefined,
  };
  return planOf([level], OWNER, DEFAULTS)!;
}

const ignored = (): void => undefined;

const now = (rules: Plan, request = REQUEST): Check[] =>
  toChecks(rules, request, CONTEXT, ignored) as Check[];
const textOf = (check: Check | undefined, rules: Plan): string =>
  check!.key.slice(rules.rules[0]!.keyPrefixFor(check!.windowMs).length);

describe('resolve', () => {
  it('returns a check for each rule synchronously, in their order, if no function waits', () => {
    const rules = plan(
      { name: 'a', limit: 3, cost: 2, countDenied: true, onStoreError: 'deny' },
      { name: 'b', window: 1, key: 'all' },
    );
    expect(now(rules)).toMatchObject([
      {
        key: `${rules.rules[0]!.keyPrefixFor(60_000)}203.0.113.7`,
        name: 'a',
        windowMs: 60_000,
        limit: 3,
        cost: 2,
        countDenied: true,
        onStoreError: 'deny',
      },
      {
        key: `${rules.rules[1]!.keyPrefixFor(1_000)}all`,
        name: 'b',
        windowMs: 1_000,
        limit: 5,
        cost: 1,
        countDenied: false,
        onStoreError: 'memory',
      },
    ]);
  });

  it('gives rules of different windows, handlers or names keys of their own', () => {
    const checks = now(plan({}, { window: '1d' }, { key: 'phone:{body.phone}' }, { name: 'x' }));
    expect(new Set(checks.map(({ key }) => key)).size).toBe(4);
  });

  it('accepts functions, sync and async, for window, limit, cost and key', async () => {
    const rules = plan({
      name: 'x',
      window: async () => '10s',
      limit: () => 0,
      cost: async () => 0,
      key: (context: ExecutionContext) => context.getType(),
    });
    const checks = (await toChecks(rules, REQUEST, CONTEXT, ignored)) as Check[];
    expect(checks).toMatchObject([{ windowMs: 10_000, limit: 0, cost: 0 }]);
    expect(checks[0]!.key).toBe(`${rules.rules[0]!.keyPrefixFor(10_000)}http`);
  });

  it('counts a changed window on another counter, and a changed limit on the same one', () => {
    let window = '1m';
    let limit = 1;
    const rules = plan({ name: 'x', window: () => window, limit: () => limit });
    const [first] = now(rules);
    limit = 2;
    const [second] = now(rules);
    window = '2m';
    const [third] = now(rules);
    expect(second).toEqual({ ...first, limit: 2, rule: expect.anything() });
    expect(third!.key).not.toBe(first!.key);
  });

  it('calls each function once, and all of them before the first result', async () => {
    const called: string[] = [];
    let release = (): void => {};
    const gate = new Promise<void>((resolveGate) => (release = resolveGate));
    const note = (name: string, value: unknown) => async (): Promise<unknown> => {
      called.push(name);
      await gate;
      return value;
    };
    const rules = plan(
      { name: 'a', window: note('a.window', '1m'), limit: note('a.limit', 1) },
      { name: 'b', key: note('b.key', 'k'), cost: note('b.cost', 1) },
    );
    const checks = toChecks(rules, REQUEST, CONTEXT, ignored);
    expect([...called].sort()).toEqual(['a.limit', 'a.window', 'b.cost', 'b.key']);
    release();
    await expect(checks).resolves.toHaveLength(2);
    expect(called).toHaveLength(4);
  });
});

describe('skipIf', () => {
  it.each([[undefined], [false], [null], [1], ['true'], [{}]])(
    'keeps the rule if it returns %p',
    async (answer) => {
      expect(now(plan({ skipIf: () => answer }))).toHaveLength(1);
      await expect(
        toChecks(plan({ skipIf: async () => answer }), REQUEST, CONTEXT, ignored),
      ).resolves.toHaveLength(1);
    },
  );

  it('leaves out only its own rule if it returns exactly true', async () => {
    const rules = (skipIf: unknown): Plan => plan({ name: 'a', skipIf }, { name: 'b' });
    expect(now(rules(() => true)).map(({ name }) => name)).toEqual(['b']);
    await expect(
      toChecks(
        rules(async () => true),
        REQUEST,
        CONTEXT,
        ignored,
      ),
    ).resolves.toMatchObject([{ name: 'b' }]);
    expect(now(plan({ skipIf: () => true }))).toEqual([]);
  });

  it('calls no other function of a skipped rule', () => {
    const called: string[] = [];
    const limit = (): number => called.push('limit');
    now(plan({ skipIf: () => true, limit, key: () => called.push('key') }));
    expect(called).toEqual([]);
  });
});

describe('a request without the value of a key', () => {
  const without = (onMissingKey: string | undefined, address?: string): unknown =>
    toChecks(
      plan({ key: '{body.phone}', onMissingKey }, { name: 'other', key: 'all' }),
      requestOf({}, address),
      CONTEXT,
      ignored,
    );

  it.each([[undefined], ['ip']])(
    'is counted by its address, on a counter of its own (%p)',
    (onMissingKey) => {
      const [by7] = without(onMissingKey, '203.0.113.7') as Check[];
      const [by8] = without(onMissingKey, '203.0.113.8') as Check[];
      const rules = plan({ key: '{body.phone}' });
      expect(textOf(by7, rules)).toBe(`${BY_ADDRESS}203.0.113.7`);
      expect(by8!.key).not.toBe(by7!.key);
      const [forged] = now(rules, requestOf({ body: { phone: '!ip|203.0.113.7' } }));
      const [plain] = now(rules, requestOf({ body: { phone: '203.0.113.7' } }));
      expect(new Set([by7!.key, forged!.key, plain!.key]).size).toBe(3);
    },
  );

  it('has a key without "undefined" where there is no address either', () => {
    const rules = plan({});
    const [check] = now(rules, requestOf({}));
    expect(textOf(check, rules)).toBe(NO_ADDRESS);
    expect(check!.key).not.toContain('undefined');
    const [literal] = now(plan({ key: '{body.phone}' }), requestOf({ body: { phone: 'undefined' } }));
    expect(literal!.key).not.toBe((without('ip') as Check[])[0]!.key);
  });

  it('is not limited by a rule that skips it', () => {
    expect((without('skip') as Check[]).map(({ name }) => name)).toEqual(['other']);
  });

  it('is returned with its rule if the rule denies it', async () => {
    expect((without('deny') as MissingKey).rule).toMatchObject({ key: { paths: ['body.phone'] } });
    const late = toChecks(
      plan({ key: async () => undefined, onMissingKey: 'deny' }),
      REQUEST,
      CONTEXT,
      ignored,
    );
    await expect(late).resolves.toHaveProperty('rule');
  });
});
