import { Controller, Get, type Type } from '@nestjs/common';
import { FreqLimit, type FreqLimitOptions } from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { captureLog } from '../support/log.js';

const log = captureLog();
afterEach(closeApps);

/** A controller of three handlers with the same decorator. */
function three(decorate: () => MethodDecorator): Type {
  @Controller('things')
  class Things {
    @Get(':id/a')
    @decorate()
    a() {}
    @Get(':id/b')
    @decorate()
    b() {}
    @Get(':id/c')
    @decorate()
    c() {}
  }
  return Things;
}

const PLACES = '@FreqLimit on Things.a, @FreqLimit on Things.b, @FreqLimit on Things.c: ';
const RULES =
  '@FreqLimit on Things.a, rule "1m", @FreqLimit on Things.b, rule "1m", @FreqLimit on Things.c, rule "1m": ';
const ROUTES = 'Things.a, Things.b, Things.c';
const own = (key: string) => () => FreqLimit('1m', 9, key);
const plain = () => FreqLimit('1m', 9);
const USER = (path: string) =>
  `the key reads {${path}}, but no guard runs before FreqLimitGuard at ${ROUTES}. Unless middleware sets request.user`;

it.each<[string, () => MethodDecorator, Partial<FreqLimitOptions>, string]>([
  [
    'a default key by user',
    plain,
    { defaultKey: '{user.id}' },
    `FREQ_LIMIT_USER_NOT_SET: defaultKey of FreqLimitModule: ${USER('user.id')}`,
  ],
  [
    'a named rule by user',
    () => FreqLimit('mine'),
    { namedRules: { mine: { window: '1m', limit: 9, key: '{user.id}' } } },
    `FREQ_LIMIT_USER_NOT_SET: namedRules.mine of FreqLimitModule: ${USER('user.id')}`,
  ],
  ['keys by user', own('{user.id}'), {}, `FREQ_LIMIT_USER_NOT_SET: ${RULES}${USER('user.id')}`],
  [
    'rules of the module by user',
    plain,
    {
      rules: [
        { window: '1s', limit: 9, key: '{user.id}' },
        { window: '1h', limit: 9, key: '{user.team}' },
      ],
    },
    'FREQ_LIMIT_USER_NOT_SET: rules[0] of FreqLimitModule, rule "1s", rules[1] of FreqLimitModule, rule "1h": ' +
      USER('user.id} or {user.team'),
  ],
  [
    'a header of a proxy',
    own('{headers.x-real-ip}{ip}'),
    {},
    `FREQ_LIMIT_KEY_FROM_PROXY_HEADER: ${RULES}the key reads {headers.x-real-ip}, which a client can set`,
  ],
  [
    'a default key by a header of a proxy',
    plain,
    { defaultKey: '{headers.x-real-ip}{ip}' },
    'FREQ_LIMIT_KEY_FROM_PROXY_HEADER: defaultKey of FreqLimitModule: the key reads {headers.x-real-ip}, which a client can set',
  ],
  [
    'a parameter that no path has',
    own('{params.user}{ip}'),
    {},
    `FREQ_LIMIT_VALUE_ALWAYS_MISSING: ${RULES}the key reads {params.user}, but the path of ${ROUTES} has no such parameter`,
  ],
  [
    'a window in milliseconds',
    () => FreqLimit(60_000, 9),
    {},
    `FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS: ${PLACES}window: 60000 is 16 h 40 min`,
  ],
  [
    'a short window',
    () => FreqLimit('60ms', 9),
    {},
    `FREQ_LIMIT_SHORT_WINDOW: ${PLACES}window: '60ms' is less than a second`,
  ],
  ['a constant key', own('thing'), {}, `FREQ_LIMIT_CONSTANT_KEY: ${PLACES}the key 'thing' is a constant`],
])('%s has one line, however many handlers it applies to', async (_, decorate, limits, start) => {
  await startApp('express', { controllers: [three(decorate)], limits: { redis: false, ...limits } });
  expect(log.lines).toEqual([expect.stringContaining(start)]);
  expect(log.lines[0]?.startsWith(start)).toBe(true);
});

it('keys by user with different effects have a line for each effect', async () => {
  const namedRules = {
    mine: { window: '1m', limit: 9, key: '{user.id}' },
    strict: { window: '1h', limit: 9, key: '{user.id}', onMissingKey: 'deny' },
  } as const;
  const rules = ['mine', 'strict'] as const;
  await startApp('express', { controllers: [three(plain)], limits: { redis: false, namedRules, rules } });
  expect(log.lines).toEqual([
    expect.stringMatching(
      /: namedRules\.mine of FreqLimitModule: .* a request there is counted by IP address\./,
    ),
    expect.stringMatching(/: namedRules\.strict of FreqLimitModule: .* is denied with status 400\./),
  ]);
});
