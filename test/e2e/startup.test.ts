import { Controller, Get, Injectable, type Type } from '@nestjs/common';
import {
  FreqLimit,
  type FreqLimitError,
  type FreqLimitRule,
  SkipFreqLimit,
  isFreqLimitError,
} from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { captureLog, logLine } from '../support/log.js';

const { lines } = captureLog();

afterEach(closeApps);

/** A controller with these decorators on its only handler. */
function controllerWith(...decorators: MethodDecorator[]): Type {
  class SmsController {
    send() {
      return 'ok';
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(SmsController.prototype, 'send')!;
  for (const decorator of [...decorators, Get()].reverse())
    decorator(SmsController.prototype, 'send', descriptor);
  Controller()(SmsController);
  return SmsController;
}

async function startUpError(...controllers: Type[]): Promise<FreqLimitError> {
  try {
    await startApp('express', { controllers });
  } catch (error) {
    if (isFreqLimitError(error)) return error;
    throw error;
  }
  throw new Error('the application started');
}

describe('a wrong declaration stops the application', () => {
  const rule = { window: '1m', limit: 1 } as const;

  it.each<[string, Partial<Record<keyof FreqLimitRule, unknown>> & Record<string, unknown>, string]>([
    ['limit NaN', { limit: NaN }, 'limit: NaN is not a whole number from 0 to 2^53 - 1, or a function'],
    ['no limit', { limit: undefined }, 'limit: is missing; expected a whole number'],
    ['a string for a limit', { limit: '5' }, 'limit: "5" is not a whole number'],
    ['a negative limit', { limit: -1 }, 'limit: -1 is not'],
    ['a fractional limit', { limit: 2.5 }, 'limit: 2.5 is not'],
    ['an infinite limit', { limit: Infinity }, 'limit: Infinity is not'],
    ['null for a limit', { limit: null }, 'limit: null is not'],
    ['no window', { window: undefined }, 'window: is missing; expected a string with a unit'],
    ['a window of 0', { window: 0 }, 'window: 0 is not a window'],
    ['a window of 0 with a unit', { window: '0s' }, 'window: "0s" is not a window'],
    ['a negative window', { window: -1 }, 'window: -1 is not a window'],
    ['a window beyond 2^53 ms', { window: 2 ** 53 }, 'is not a window; expected a string with a unit'],
    ['a fortnight', { window: '1 fortnight' }, 'window: "1 fortnight" is not a window'],
    ['a window without a unit', { window: '60' }, 'window: "60" is not a window'],
    ['an empty key', { key: '' }, 'key: an empty string is not a key'],
    ['a bare placeholder', { key: 'ip' }, "for the value write '{ip}'"],
    ['a bare path', { key: 'body.phone' }, "for the value write '{body.phone}'"],
    [
      'an unknown placeholder',
      { key: '{cookie.a}' },
      '{cookie.a} is not a placeholder; placeholders begin with ip, user',
    ],
    ['an object for a placeholder', { key: '{body}' }, '{body} does not name a value'],
    ['an open brace', { key: 'a{ip' }, 'has an unmatched brace'],
    ['an empty list', { key: [] }, 'key: [list of 0] is not a key'],
    ['null for a key', { key: null }, 'key: null is not a key'],
    ['an unknown scope', { scope: 'route' }, "scope: \"route\" is not one of 'handler', 'controller', 'app'"],
    [
      'an unknown onMissingKey',
      { onMissingKey: 'pass' },
      "onMissingKey: \"pass\" is not one of 'ip', 'skip', 'deny'",
    ],
    ['a name with a quote', { name: 'a"b' }, 'name: "a"b" is not a name of 1 to 64'],
    ['a name with a comma', { name: 'a,b' }, 'name: "a,b" is not'],
    ['a name that is not ASCII', { name: 'täglich' }, 'is not a name'],
    ['a name with a line break', { name: 'a\nb' }, 'name: "a\\nb" is not a name'],
    ['a cost that is none', { cost: -1 }, 'cost: -1 is not a whole number'],
    ['countDenied that is none', { countDenied: 'yes' }, 'countDenied: "yes" is not true or false'],
    ['skipIf that is none', { skipIf: true }, 'skipIf: true is not a function'],
    ['another library’s word', { ttl: 5 }, "ttl: is not an option; did you mean window: '5s'?"],
    ['an unknown option', { foo: 5 }, 'foo: is not an option (options: window, limit, key'],
  ])('with %s', async (_, part, message) => {
    const error = await startUpError(controllerWith(FreqLimit({ ...rule, ...part } as FreqLimitRule)));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_RULE');
    expect(error.message).toContain('@FreqLimit on SmsController.send: ');
    expect(error.message).toContain(message);
  });

  it.each<[string, MethodDecorator[], string]>([
    [
      'two unnamed rules of one window and key',
      [FreqLimit('1m', 3), FreqLimit('1m', 5)],
      'two rules without a name have the window 1m and the key {ip}, so they would share a counter',
    ],
    [
      'two unnamed rules by functions',
      [FreqLimit('1m', 3, () => 'a'), FreqLimit('1m', 5, () => 'b')],
      'give one of them a name',
    ],
    [
      'two rules of one name',
      [FreqLimit({ ...rule, name: 'x' }), FreqLimit({ ...rule, window: '1h', name: 'x' })],
      'name: two rules have the name "x"',
    ],
    [
      'a skip of a name that no rule has',
      [FreqLimit({ ...rule, name: 'daily' }), SkipFreqLimit('dayly')],
      'no rule here has the name "dayly"; existing names: daily',
    ],
    ['no rule at all', [FreqLimit(undefined as never, undefined as never)], 'undefined is not a rule'],
  ])('with %s', async (_, decorators, message) => {
    expect((await startUpError(controllerWith(...decorators))).message).toContain(message);
  });

  it.each<[string, FreqLimitRule, FreqLimitRule]>([
    [
      'one name by two templates',
      { window: '1m', limit: 3, name: 'g', scope: 'app', key: '{ip}' },
      { window: '1m', limit: 3, name: 'g', scope: 'app', key: '{body.phone}' },
    ],
    [
      'no name by two functions',
      { window: '1m', limit: 3, scope: 'app', key: () => 'user 5' },
      { window: '1m', limit: 3, scope: 'app', key: () => 'tenant 5' },
    ],
  ])('if two handlers share a counter under %s', async (_, one, two) => {
    const { message } = await startUpError(controllerWith(FreqLimit(one)), controllerWith(FreqLimit(two)));
    expect(message).toContain('this rule shares counters with the rule at @FreqLimit on SmsController.send');
  });

  it('reports all wrong declarations at once', async () => {
    const { problems } = await startUpError(
      controllerWith(FreqLimit('1m', -1)),
      controllerWith(FreqLimit('1 year' as never, 1)),
    );
    expect(problems).toEqual([
      expect.stringContaining('limit: -1'),
      expect.stringContaining('window: "1 year"'),
    ]);
  });

  it('reports rules of the module too, and leaves no connection open', async () => {
    const limits = { redis: 'redis://127.0.0.1:1', rules: [{ window: '1m', limit: '5' as never }] } as const;
    await expect(startApp('express', { limits })).rejects.toThrow(
      /rules\[0\] of FreqLimitModule: limit: "5" is not/,
    );
  });

  it('a bare number that looks like milliseconds has a warning', async () => {
    const { url } = await startApp('express', { controllers: [controllerWith(FreqLimit(60_000, 3))] });
    expect((await fetch(url)).headers.get('ratelimit-policy')).toBe('"1000m";q=3;w=60000');
    expect(lines).toEqual([
      logLine(
        'FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS',
        '@FreqLimit on SmsController.send: window: 60000 is 16 h 40 min, because a number is in seconds.',
      ),
    ]);
  });

  it('a limit on a method without a guard has a warning', async () => {
    @Injectable()
    class Mailer {
      @FreqLimit('1m', 1)
      send() {}
    }
    await startApp('express', { providers: [Mailer] });
    expect(lines).toEqual([
      logLine('FREQ_LIMIT_RULE_WITHOUT_EFFECT', 'Mailer.send has a limit, but Nest does not call guards'),
    ]);
  });
});
