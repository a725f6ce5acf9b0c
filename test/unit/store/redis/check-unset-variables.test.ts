import { readRedisOption } from '../../../../src/store/redis/check-redis-option.js';

const INSTEAD =
  "Set it to the URL of your Redis, such as 'redis://localhost:6379', or write redis: false to count in the memory of this " +
  'process';

describe('an environment variable without a value', () => {
  it.each(['', ' ', '\n'])('is an error for %j', (url) => {
    expect(() => readRedisOption(url)).toThrow(
      `the string is empty; is an environment variable such as REDIS_URL empty? ${INSTEAD}`,
    );
  });

  it.each([
    ['undefined', 'undefined'],
    ['null', 'null'],
    ['redis://undefined:6379', 'undefined'],
    ['redis://undefined', 'undefined'],
    ['redis://localhost:undefined', 'undefined'],
    ['redis://localhost:NaN/0', 'NaN'],
    ['redis://localhost:6379/undefined', 'undefined'],
    ['redis://:undefined@localhost', 'undefined'],
    ['rediss://null:secret@localhost', 'null'],
  ])('is an error for %s', (url, unset) => {
    expect(() => readRedisOption(url)).toThrow(
      new TypeError(
        `the string contains "${unset}" in place of a value; is an environment variable not set? ${INSTEAD}`,
      ),
    );
  });

  it.each(['redis://undefined-host:6379', 'redis://my.null.example', 'redis://:xundefined@localhost'])(
    'is not assumed for %s',
    (url) => {
      expect(readRedisOption(url)).toBe(url);
    },
  );

  it.each([null, true, 0])('is an error for %p that says how to count in memory', (redis) => {
    expect(() => readRedisOption(redis)).toThrow(
      /^(?:null|true|0) is not a URL .*, or false to count in the memory of this process$/,
    );
  });
});
