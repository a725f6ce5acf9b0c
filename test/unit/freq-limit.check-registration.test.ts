import { Redis } from 'ioredis';
import { FreqLimitModule } from '../../src/freq-limit.module.js';
import { thrownBy } from './fixtures.js';

class Settings {
  createFreqLimitOptions() {
    return {};
  }
}
const { forRoot, forRootAsync } = FreqLimitModule as unknown as Record<string, (options: unknown) => unknown>;
const throttlers = [
  { ttl: 1_000, limit: 3 },
  { name: 'long', ttl: 60_000, limit: 20 },
];

describe('forRoot', () => {
  const client = new Redis({ lazyConnect: true });
  afterAll(() => {
    client.disconnect();
  });

  it.each<[string, unknown, string]>([
    [
      'a list of throttlers',
      throttlers,
      "[list of 2] is not a plain object with options; write forRoot({ rules: [{ window: '1s', limit: 3, scope: 'handler' }, " +
        "{ name: 'long', window: '1m', limit: 20, scope: 'handler' }] })",
    ],
    ['an empty list', [], "write forRoot({ rules: [{ window: '1m', limit: 5, scope: 'handler' }] })"],
    [
      'a URL',
      'redis://:secret@host',
      "a string is not a plain object with options; write forRoot({ redis: 'redis://host",
    ],
    ['a client', client, 'write forRoot({ redis: client })'],
    ['a function', () => ({}), 'write forRootAsync({ useFactory: () => options })'],
    ['a promise', Promise.resolve({}), 'write forRootAsync({ useFactory: () => options })'],
    ['a class', Settings, 'write forRootAsync({ useClass: Settings })'],
    ['an instance', new Settings(), 'or pass a class as useClass of forRootAsync'],
    ['null', null, 'null is not a plain object with options; write forRoot({ … })'],
    ['a wrong global', { global: 'yes' }, 'global: "yes" is not true or false'],
  ])('rejects %s', (_, options, message) => {
    const error = thrownBy(() => forRoot!.call(FreqLimitModule, options));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('secret');
  });

  it('has a line for each mistake', () => {
    const error = thrownBy(() => forRoot!.call(FreqLimitModule, { global: 'yes', globalGuard: 1 }));
    expect(error.problems).toEqual([
      expect.stringContaining('FreqLimitModule.forRoot: global: "yes" is not true or false'),
      'FreqLimitModule.forRoot: globalGuard: 1 is not true or false',
    ]);
  });
});

describe('forRootAsync', () => {
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'undefined is not a plain object with options; write forRootAsync({ useFactory: '],
    ['a function', () => ({}), 'write forRootAsync({ useFactory: () => options })'],
    ['a class', Settings, 'write forRootAsync({ useClass: Settings })'],
    [
      'options',
      { redis: 'redis://a' },
      'redis: is not an option; return it from useFactory: () => ({ redis: … })',
    ],
    ['useValue', { useValue: {} }, 'useValue: is not an option; use FreqLimitModule.forRoot(options)'],
    [
      'a misspelled name',
      { useFactroy: () => ({}) },
      'useFactroy: is not an option; did you mean useFactory?',
    ],
    [
      'isGlobal',
      { useFactory: () => ({}), isGlobal: true },
      'isGlobal: is not an option; did you mean global?',
    ],
    ['an object as the factory', { useFactory: {} }, 'useFactory: [object] is not a function'],
    ['an instance as the class', { useClass: new Settings() }, 'useClass: [object] is not a class'],
    ['one provider', { useFactory: () => ({}), inject: Settings }, 'is not a list, such as [ConfigService]'],
    ['one import', { useFactory: () => ({}), imports: Settings }, 'is not a list, such as [ConfigService]'],
  ])('rejects %s', (_, options, message) => {
    const error = thrownBy(() => forRootAsync!.call(FreqLimitModule, options));
    expect(error.code).toBe('FREQ_LIMIT_INVALID_OPTIONS');
    expect(error.message).toMatch(/^FreqLimitModule\.forRootAsync: /);
    expect(error.message).toContain(message);
  });

  it('has a line for each mistake', () => {
    const options = { redis: 'redis://:secret@a', namespace: 'a', useFactory: {}, inject: 5 };
    const error = thrownBy(() => forRootAsync!.call(FreqLimitModule, options));
    const place = 'FreqLimitModule.forRootAsync: ';
    expect(error.problems).toEqual([
      `${place}redis: is not an option; return it from useFactory: () => ({ redis: … })`,
      `${place}namespace: is not an option; return it from useFactory: () => ({ namespace: … })`,
      `${place}useFactory: [object] is not a function`,
      `${place}inject: 5 is not a list, such as [ConfigService]`,
    ]);
  });
});
