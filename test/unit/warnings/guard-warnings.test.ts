import { FreqLimitGuard } from '../../../src/freq-limit.guard.js';
import type { FreqLimitRule } from '../../../src/rules/rule.js';
import { usersNotSet } from '../../../src/warnings/guard-warnings.js';
import { declared } from '../fixtures.js';
import { plannedHandler } from './handlers.js';

const warningsFor = (options: Partial<FreqLimitRule>): string[] => {
  const rule = { window: '1m', limit: 1, key: '{user.id}', ...options } as const;
  const { rules } = plannedHandler('send', [declared(rule)]).plan;
  const handler = { name: 'Sms.send', rules, guards: [FreqLimitGuard], kind: 'route', paths: [] } as const;
  return usersNotSet([handler]).map(({ message }) => message);
};

it.each<[Partial<FreqLimitRule>, string]>([
  [{}, 'counted by IP address'],
  [{ onMissingKey: 'skip' }, 'not counted by this rule'],
  [{ onMissingKey: 'deny' }, 'denied with status 400'],
  // a shadow rule denies nothing
  [{ onMissingKey: 'deny', shadow: true }, 'not counted by this rule'],
])('says what happens to a request without a user, with %j', (options, effect) => {
  expect(warningsFor(options)).toEqual([expect.stringContaining(`a request there is ${effect}. `)]);
});
