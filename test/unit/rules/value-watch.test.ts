import type { LimitedRequest } from '../../../src/core/request.js';
import { planOf } from '../../../src/rules/plan.js';
import type { PlannedRule } from '../../../src/rules/planned-rule.js';
import { toChecks } from '../../../src/rules/to-checks.js';
import { ValueWatches } from '../../../src/rules/value-watch.js';
import type { Scope } from '../../../src/rules/rule.js';
import { CONTEXT, declared, DEFAULTS, OWNER, requestOf } from '../fixtures.js';

let lines: string[];
let watches: ValueWatches;
beforeEach(() => {
  lines = [];
  watches = new ValueWatches({ warn: (code, message) => lines.push(`${code}: ${message}`) });
});

type Send = (parts?: Record<string, unknown>, times?: number) => Promise<void>;

/** Plans a rule as the application does, and sends requests to it. */
function watched(
  rule: object,
  level: Scope = 'handler',
  place = '@FreqLimit on Codes.send',
): Send & { rule: PlannedRule } {
  const levels = [
    { rules: [declared({ window: '1m', limit: 5, name: 'r', ...rule }, level, place)], skip: undefined },
  ];
  const plan = planOf(levels, OWNER, DEFAULTS)!;
  const [planned] = plan.rules;
  planned!.valueWatch = watches.of(planned!);
  const send: Send = async (parts = {}, times = 1) => {
    for (let i = 0; i < times; i++)
      await toChecks(plan, requestOf(parts, '203.0.113.7'), CONTEXT, () => undefined);
  };
  return Object.assign(send, { rule: planned! });
}

const LINE = 'FREQ_LIMIT_VALUE_ALWAYS_MISSING: @FreqLimit on Codes.send, rule "r": ';
const CHECK_NAME =
  'Check the name, and that the value is set before FreqLimitGuard runs. If clients may leave it out, there is nothing to do.';

describe('a rule whose first 20 requests all lack a value', () => {
  it('gets one line, which says which value, and nothing of the requests', async () => {
    const send = watched({ key: 'login:{body.usr}' });
    await send({ body: { user: 'ann', password: 'open sesame' } }, 19);
    expect(lines).toEqual([]);
    await send({ body: { user: 'ann' } });
    const line = `${LINE}none of the first 20 requests had {body.usr}, so they were counted by IP address. ${CHECK_NAME}`;
    expect(lines).toEqual([line]);
    await send({ body: {} }, 100);
    expect(lines).toEqual([line]);
    expect(send.rule.valueWatch).toBeUndefined();
  });

  it.each([
    ['skip', false, 'not counted by this rule'],
    ['deny', false, 'denied with status 400'],
    ['ip', true, 'counted by IP address'],
    ['deny', true, 'not counted by this rule'],
  ] as const)('says what happens to the requests: %s, shadow: %p', async (onMissingKey, shadow, effect) => {
    await watched({ key: '{query.q}', onMissingKey, shadow })({ query: {} }, 20);
    expect(lines).toEqual([
      `${LINE}none of the first 20 requests had {query.q}, so they were ${effect}. ${CHECK_NAME}`,
    ]);
  });

  it.each<[string, object, Record<string, unknown>]>([
    ['{headers.x-tennant}', {}, { headers: { 'x-tenant': 'a' } }],
    ['{params.userId}', {}, { params: { id: '1' } }],
    ['{body.phone}', {}, {}],
    ['{body.phone}', {}, { body: { phone: ['1', '2'] } }],
    ['{body.phone}', { normalize: 'phone' }, { body: { phone: 'none' } }],
    ['{body.phone}', { normalize: () => '' }, { body: { phone: '1' } }],
  ])('knows %s of %p', async (key, rule, parts) => {
    await watched({ key, ...rule })(parts, 20);
    expect(lines).toEqual([expect.stringContaining(`none of the first 20 requests had ${key}, so`)]);
  });

  it.each<[unknown, string]>([
    ['{body.user}{body.tenant}', '{body.tenant}'],
    [['{body.user}', 'in:{body.tenant}'], '{body.tenant}'],
    [['{ip}', '{body.user}', '{body.tenant}'], '{body.tenant}'],
    ['{body.usr}{body.tenant}', '{body.usr} or {body.tenant}'],
    ['{body.usr}{body.usr}', '{body.usr}'],
    [[() => 'x', '{body.tenant}'], '{body.tenant}'],
    [[() => undefined, '{body.tenant}'], '{body.tenant}'],
  ])('names those of %p that are missing', async (key, names) => {
    await watched({ key })({ body: { user: 'ann' } }, 20);
    expect(lines).toEqual([expect.stringContaining(`none of the first 20 requests had ${names}, so`)]);
  });

  it.each<[string, unknown, string]>([
    ['a function', () => undefined, 'the key function'],
    ['an async function', async () => null, 'the key function'],
    ['a function that returns an empty list', () => [], 'the key function'],
    ['a function in a list', ['{body.user}', () => ''], 'the key function'],
    ['functions in a list', [() => 'x', async () => undefined], 'one of the key functions'],
  ])('knows %s that returns nothing', async (_, key, name) => {
    await watched({ key })({ body: { user: 'ann' } }, 20);
    expect(lines).toEqual([
      `${LINE}${name} returned no value for the first 20 requests, so they were counted by IP address. ` +
        'Check that it returns a string or a number. If it returns nothing on purpose, there is nothing to do.',
    ]);
  });

  it('calls no key function again to find out', async () => {
    let calls = 0;
    await watched({
      key: [
        '{body.user}',
        async () => {
          calls++;
        },
      ],
    })({ body: { user: 'ann' } }, 20);
    expect([calls, lines.length]).toEqual([20, 1]);
  });

  it('does not fail with a normalize function that fails now and then', async () => {
    let calls = 0;
    const normalize = (text: string): string => {
      if (++calls % 2 === 0) throw new Error('now and then');
      return text;
    };
    const request: LimitedRequest = requestOf({ body: { a: 'a', b: 'b' } }, '203.0.113.7');
    const send = watched({ key: ['{body.a}', () => undefined], normalize });
    // without the memory of a request, each reading calls the function
    Object.defineProperty(request, 'normalized', { get: () => undefined, set: () => undefined });
    send.rule.valueWatch!.see(send.rule, false, request);
    send.rule.valueWatch!.see(send.rule, false, request);
    expect(lines).toEqual([]);
  });
});

describe('a rule with the value in one of its first requests', () => {
  it.each<[string, unknown]>([
    ['a placeholder', '{body.user}'],
    ['several placeholders', '{body.user}{body.tenant}'],
    ['a list', ['{body.user}', '{body.tenant}']],
  ])('gets no line: %s', async (_, key) => {
    const send = watched({ key });
    await send({ body: {} }, 19);
    await send({ body: { user: 'ann', tenant: 1 } });
    expect(send.rule.valueWatch).toBeUndefined();
    await send({ body: {} }, 100);
    expect(lines).toEqual([]);
  });

  it('gets none if each value has come once, in different requests', async () => {
    const send = watched({ key: '{body.user}{body.tenant}' });
    await send({ body: { user: 'ann' } });
    await send({ body: { tenant: 1 } });
    await send({ body: {} }, 100);
    expect(lines).toEqual([]);
  });

  it('gets none of a value that is too long', async () => {
    const send = watched({ key: '{body.phone}', normalize: 'phone' });
    await send({ body: { phone: '1'.repeat(2_000) } }, 100);
    expect(lines).toEqual([]);
  });

  it.each([['{ip}'], ['all'], [['{ip}', 'all']]])('is not watched if requests cannot lack it: %p', (key) => {
    expect(watched({ key }).rule.valueWatch).toBeUndefined();
  });
});

describe('a rule by user', () => {
  it('gets a line if 20 requests with a user lack the field, however many are anonymous', async () => {
    const send = watched({ key: '{user.sub}' });
    await send({}, 100);
    await send({ user: { id: 1 } }, 20);
    expect(lines).toEqual([
      `${LINE}none of the first 20 requests with a user had {user.sub}, so they were counted by IP address. ${CHECK_NAME}`,
    ]);
  });

  it('gets none for its first anonymous requests, and one if none of 500 has a user', async () => {
    const send = watched({ key: '{user.id}' });
    await send({}, 499);
    expect(lines).toEqual([]);
    await send({ user: null });
    expect(lines).toEqual([
      `${LINE}none of the first 500 requests had a user for {user.id}, so they were counted by IP ` +
        'address. Let the guard or middleware that sets request.user run before FreqLimitGuard. If only anonymous clients ' +
        'have called, there is nothing to do.',
    ]);
  });

  it('gets none if a user comes', async () => {
    const send = watched({ key: '{user.id}' });
    await send({}, 499);
    await send({ user: { id: 1 } });
    await send({}, 1_000);
    expect(lines).toEqual([]);
  });
});

describe('a rule of several handlers', () => {
  it('of a controller has one line, and none if one of the handlers gets the value', async () => {
    const place = '@FreqLimit on Codes';
    const [one, two] = [
      watched({ key: '{body.usr}' }, 'controller', place),
      watched({ key: '{body.usr}' }, 'controller', place),
    ];
    await one({ body: {} }, 10);
    await two({ body: {} }, 10);
    expect(lines).toHaveLength(1);
    await one({ body: {} }, 100);
    expect(lines).toHaveLength(1);
    expect(one.rule.valueWatch).toBeUndefined();
    const [three, four] = [
      watched({ key: '{body.user}' }, 'controller', place),
      watched({ key: '{body.user}' }, 'controller', place),
    ];
    await three({ body: { user: 'ann' } });
    await four({ body: {} }, 100);
    expect(lines).toHaveLength(1);
  });

  it('of the module gets its line after 500 requests, because not every handler has the value', async () => {
    const send = watched({ key: '{body.usr}' }, 'app', 'rules[0] of FreqLimitModule');
    await send({ body: {} }, 499);
    expect(lines).toEqual([]);
    await send({ body: {} });
    expect(lines).toEqual([
      expect.stringContaining('rules[0] of FreqLimitModule, rule "r": none of the first 500 requests'),
    ]);
  });

  it('with one key function have one line for the function', async () => {
    const key = (): undefined => undefined;
    await watched({ key }, 'handler', '@FreqLimit on A.a')({}, 20);
    await watched({ key }, 'handler', '@FreqLimit on B.b')({}, 20);
    expect(lines).toEqual([expect.stringContaining('@FreqLimit on A.a, rule "r": the key function')]);
  });
});
