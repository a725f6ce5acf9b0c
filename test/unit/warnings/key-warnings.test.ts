import {
  keysFromClientOnly,
  keysFromProxyHeaders,
  keysWithPath,
} from '../../../src/warnings/key-warnings.js';
import type { LimitedHandler } from '../../../src/warnings/limited-handlers.js';
import { planRule } from '../../../src/rules/plan-rule.js';
import type { KeySpec } from '../../../src/rules/rule.js';
import { declared, DEFAULTS, OWNER } from '../fixtures.js';

const rule = (key: KeySpec, name: string) =>
  planRule(
    declared({ window: '1m', limit: 1, key, name }, 'handler', `@FreqLimit on ${name}`),
    OWNER,
    DEFAULTS,
  );

function handler(name: string, ...keys: KeySpec[]): LimitedHandler {
  return { name, rules: keys.map((key) => rule(key, name)), guards: [], kind: 'route', paths: [] };
}

it('names each rule with a path once, with its handlers', () => {
  const shared = rule('{user.id}', 'shared');
  const limited = ['A.a', 'B.b'].map((name) => ({ ...handler(name), rules: [shared] }));
  expect(keysWithPath(limited, /^user\./)).toEqual([
    { label: '@FreqLimit on shared, rule "shared"', path: 'user.id', rule: shared, names: ['A.a', 'B.b'] },
  ]);
});

it.each(['x-forwarded-for', 'Forwarded', 'CF-Connecting-IP'])('warns of a key by the header %s', (header) => {
  expect(keysFromProxyHeaders([handler('A.a', `{headers.${header}}`)])).toEqual([
    {
      code: 'FREQ_LIMIT_KEY_FROM_PROXY_HEADER',
      message:
        `@FreqLimit on A.a, rule "A.a": the key reads {headers.${header}}, which a client can set to any value. Use {ip}: ` +
        'it reads such headers only from proxies that the application trusts.',
    },
  ]);
});

it('does not warn of a key by another header', () => {
  expect(keysFromProxyHeaders([handler('A.a', '{headers.x-api-key}')])).toEqual([]);
});

it.each<[string, KeySpec[], boolean]>([
  ['only values of the client', ['{body.a}', '{query.b}{headers.c}'], true],
  ['a value of the client and the address', ['{body.a}{ip}'], false],
  ['a limit by address next to it', ['{body.a}', '{ip}'], false],
  ['a constant', ['{body.a}', 'all'], false],
  ['a function', [() => 'tenant'], false],
])('warns of keys from the client: %s', (_, keys, expected) => {
  expect(keysFromClientOnly([handler('A.a', ...keys)]).length > 0).toBe(expected);
  const resolver = { ...handler('A.a', ...keys), kind: 'operation' } as const;
  expect(keysFromClientOnly([resolver])).toEqual([]);
});
