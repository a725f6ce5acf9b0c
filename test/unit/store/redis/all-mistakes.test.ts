import { resolveOptions } from '../../../../src/freq-limit.resolve-options.js';

const problems = (redis: unknown): readonly string[] =>
  resolveOptions({ redis })
    .errors?.get('redis')
    ?.problems.map((problem) => problem.replace('FreqLimitModule: redis: ', '')) ?? [];

describe('all mistakes in the option redis have a line each', () => {
  it('unknown names and wrong values of a server', () => {
    expect(
      problems({ host: 'a:1', port: 99_999, db: '1', prot: 1, username: 5, password: 7, tls: 'on' }),
    ).toEqual([
      expect.stringMatching(/^prot: is not an option here; did you mean port\?/),
      'host: contains a port; write { host, port }',
      'port: 99999 is not a port from 1 to 65535',
      expect.stringMatching(/^db: "1" is not/),
      'password: is not a string',
      expect.stringMatching(/^tls: "on" is not/),
      'username: 5 is not a string',
    ]);
  });

  it('in all parts of the options of a Cluster', () => {
    const options = { password: 'x', lazyConnect: 'no', redisOptions: { pasword: 'y', username: 5 } };
    expect(problems({ cluster: [7_000], options })).toEqual([
      'options.password: is not an option here; it belongs in options.redisOptions',
      expect.stringMatching(/^options\.lazyConnect: "no" is not true or false/),
      'options.redisOptions.pasword: is not an option here; did you mean password?',
      'options.redisOptions.username: 5 is not a string',
    ]);
  });

  it('but a name that is misspelled is not missing too', () => {
    expect(problems({ sentinels: [{ host: 's' }], nam: 'primary' })).toEqual([
      expect.stringMatching(/^nam: is not an option here; did you mean name\?/),
    ]);
  });
});
