import type { ExecutionContext } from '@nestjs/common';
import { FreqLimit } from '../../../src/decorators/freq-limit.decorator.js';
import type { FreqLimitOptions } from '../../../src/freq-limit.options.js';
import { defineRule, type RuleDefinition } from '../../../src/rules/define-rule.js';
import { thrownBy } from '../fixtures.js';

const COUNT = 'a whole number from 0 to 2^53 - 1, as a number or a string of digits';
const WINDOW =
  "a string with a unit ('500ms', '10s', '1m', '1h', '1d') or a number of seconds, from 1 ms to 2^53 - 1 ms";

/** The message for a rule that the compiler rejects too. */
const messageFor = (rule: object): string =>
  thrownBy(() => defineRule({ window: '1m', limit: 5, ...rule })).message;

describe('defineRule', () => {
  it('returns the rule, with numbers for strings of digits', () => {
    expect(defineRule({ window: '1m', limit: 5 })).toEqual({ window: '1m', limit: 5 });
    expect(defineRule({ window: 60, limit: '5', cost: '2' })).toEqual({ window: 60, limit: 5, cost: 2 });
    expect(defineRule({ window: '1m', limit: '007', cost: undefined })).toEqual({ window: '1m', limit: 7 });
  });

  it('keeps all options, functions too, and cannot be changed', () => {
    const rule = {
      window: () => '1m' as const,
      limit: async () => 5,
      key: (context: ExecutionContext) => context.getType(),
      normalize: 'email',
      name: 'all',
      scope: 'app',
      onMissingKey: 'skip',
      cost: () => 2,
      countDenied: true,
      onStoreError: 'deny',
      skipIf: () => false,
      countWhen: 'failure',
      shadow: true,
      statusCode: 400,
      message: 'no',
      hidden: true,
    } as const;
    expect(defineRule(rule)).toEqual(rule);
    expect(Object.isFrozen(defineRule(rule))).toBe(true);
  });

  it('reads options that an object inherits', () => {
    class Settings {
      get window(): string {
        return `${this.limit}m`;
      }
      readonly limit = '5';
    }
    expect(defineRule(new Settings())).toEqual({ window: '5m', limit: 5 });
  });

  it('has the type of a rule, with its name', () => {
    const login = defineRule({ name: 'login', window: '15m', limit: '5' });
    const name: 'login' = login.name;
    const lists = ['1m', '1h'].map((window) => defineRule({ window, limit: 5 }));
    const options: FreqLimitOptions = { rules: [login, ...lists], namedRules: { login: lists[0]! } };
    expect(options.rules).toEqual([login, { window: '1m', limit: 5 }, { window: '1h', limit: 5 }]);
    expect(() => FreqLimit(login)).not.toThrow();
    expect(name).toBe('login');
  });

  it('compiles only with known options of the right type', () => {
    const given = process.env['NOT_SET'];
    // @ts-expect-error -- the variable may not be set
    expect(() => defineRule({ window: given, limit: 5 })).toThrow('window: is missing');
    // @ts-expect-error -- not an option
    expect(() => defineRule({ window: '1m', limit: 5, windw: '1m' })).toThrow('windw: is not an option');
    // @ts-expect-error -- only the numbers may be strings
    expect(() => defineRule({ window: '1m', limit: 5, shadow: 'true' })).toThrow('shadow: "true" is not');
  });

  it('gives functions their types, also in a list of rules and names', () => {
    const definition: RuleDefinition = { window: '1m', limit: '5', key: (context) => context.getType() };
    const options: FreqLimitOptions = {
      rules: [
        'login',
        defineRule({ window: '1m', limit: 5, key: '{body.a}', normalize: (value) => value.slice(1) }),
      ],
    };
    expect(options.rules).toHaveLength(2);
    expect(defineRule(definition)).toMatchObject({ limit: 5 });
  });

  it.each<[object, string]>([
    [{ limit: '' }, `limit: is empty; is an environment variable empty? Expected ${COUNT}`],
    [{ limit: ' ' }, `limit: is empty; is an environment variable empty? Expected ${COUNT}`],
    [{ limit: undefined }, `limit: is missing; is an environment variable not set? Expected ${COUNT}`],
    [{ limit: '5x' }, `limit: "5x" is not ${COUNT}`],
    [{ limit: '1e3' }, `limit: "1e3" is not ${COUNT}`],
    [{ limit: '-1' }, `limit: "-1" is not ${COUNT}`],
    [{ limit: '9007199254740992' }, `limit: "9007199254740992" is not ${COUNT}`],
    [{ limit: null }, `limit: null is not ${COUNT}`],
    [
      { limit: NaN },
      `limit: NaN is not ${COUNT}; Number(undefined) is NaN: is an environment variable not set?`,
    ],
    [{ cost: '' }, `cost: is empty; is an environment variable empty? Expected ${COUNT}`],
    [{ cost: '1.5' }, `cost: "1.5" is not ${COUNT}`],
    [{ window: '' }, `window: is empty; is an environment variable empty? Expected ${WINDOW}`],
    [{ window: undefined }, `window: is missing; is an environment variable not set? Expected ${WINDOW}`],
    [{ window: '15min' }, `window: "15min" is not a window; expected ${WINDOW}`],
    [
      { window: '60' },
      `window: "60" is not a window, because its unit is missing; write '60s' or Number('60') for seconds, '60ms' for milliseconds`,
    ],
    [{ statusCode: 200 }, 'statusCode: 200 is not a whole number from 400 to 599'],
    [
      { shadow: 'true' },
      'shadow: "true" is not true or false; it is a string, perhaps from the environment: write … === \'true\'',
    ],
    [{ key: '{bdy.phone}' }, 'key: {bdy.phone} is not a placeholder'],
    [{ normalize: 'mail' }, 'normalize: "mail" is not'],
    [{ key: '{ip}', normalize: 'email' }, 'normalize: the key "{ip}" has no value to normalize'],
    [{ max: 5 }, 'max: is not an option; did you mean limit?'],
  ])('throws for %j', (rule, message) => {
    expect(thrownBy(() => defineRule({ window: '1m', limit: 5, ...rule }))).toMatchObject({
      code: 'FREQ_LIMIT_INVALID_RULE',
    });
    expect(messageFor(rule)).toContain(`defineRule: ${message}`);
  });

  it('reports all mistakes together', () => {
    const error = thrownBy(() => defineRule({ name: 'login', window: '60', limit: '', max: 5 } as never));
    expect(error).toMatchObject({
      problems: [
        expect.stringMatching(/^defineRule "login": max: is not an option; did you mean limit\?/),
        expect.stringMatching(/^defineRule "login": window: "60" is not a window/),
        expect.stringMatching(/^defineRule "login": limit: is empty/),
      ],
    });
  });

  it('leaves normalize without a key to the start, which knows the default key', () => {
    const rule = { window: '1m', limit: 5, normalize: { 'body.email': 'email' } } as const;
    expect(defineRule(rule)).toEqual(rule);
  });

  it('says the name of a wrong rule, if that is right', () => {
    expect(messageFor({ name: 'login', limit: '' })).toMatch(/^defineRule "login": limit: is empty/);
    expect(messageFor({ name: 'log in' })).toMatch(/^defineRule: name: "log in" is not a name/);
    expect(thrownBy(() => defineRule(undefined as never)).message).toMatch(/^defineRule: undefined is not/);
  });
});
