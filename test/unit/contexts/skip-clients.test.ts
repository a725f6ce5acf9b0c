import { OptionReader } from '../../../src/core/validate.js';
import {
  type IsSkipped,
  type RequestOrigin,
  skipByAddress,
  skipByUserAgent,
} from '../../../src/contexts/skip-clients.js';

const read = new OptionReader('FreqLimitModule', (message) => new Error(message));
const origin = (addressText?: string, headers: unknown = {}): RequestOrigin => ({
  addressText,
  isUntrustedProxy: false,
  parts: { headers },
});
const byAddress = (...skipAddresses: string[]): IsSkipped => skipByAddress(skipAddresses, read)!;
const byAgent = (...agents: (RegExp | string)[]): ((agent?: unknown) => boolean) => {
  const skips = skipByUserAgent(agents, read)!;
  return (agent) => skips(origin('203.0.113.7', { 'user-agent': agent }));
};

describe('skipAddresses', () => {
  it.each<[string, string, string[], string[]]>([
    [
      'an IPv4 address',
      '203.0.113.7',
      ['203.0.113.7', '::ffff:203.0.113.7', '::FFFF:cb00:7107', '203.0.113.7:80'],
      ['203.0.113.8', '::cb00:7107'],
    ],
    [
      'an IPv4 range',
      '10.0.0.0/8',
      ['10.0.0.0', '10.255.255.255', '::ffff:10.1.2.3'],
      ['11.0.0.0', '9.255.255.255', '::a00:1'],
    ],
    ['a range written with an address inside it', '10.1.2.3/8', ['10.200.0.1'], ['11.0.0.0']],
    ['all of IPv4', '0.0.0.0/0', ['1.2.3.4', '255.255.255.255', '::ffff:1.2.3.4'], ['::1', '2001:db8::1']],
    [
      'an IPv6 address, not its network',
      '2001:db8::1',
      ['2001:DB8:0:0::1', '[2001:db8::1]:443', '2001:db8::1%eth0'],
      ['2001:db8::2', '2001:db8:0:0:1::1'],
    ],
    ['an IPv6 range', '2001:db8::/32', ['2001:db8:ffff::1'], ['2001:db9::1', '10.0.0.1']],
    ['a range narrower than /64', '2001:db8::/127', ['2001:db8::1'], ['2001:db8::2']],
    ['IPv4 in IPv6', '::ffff:203.0.113.7', ['203.0.113.7', '::ffff:203.0.113.7'], ['203.0.113.8']],
    [
      'a range of IPv4 in IPv6',
      '::ffff:10.0.0.0/104',
      ['10.1.2.3', '::ffff:10.1.2.3'],
      ['11.0.0.0', '::a00:1'],
    ],
    ['one address as a range', '203.0.113.7/32', ['203.0.113.7'], ['203.0.113.6']],
    ['the loopback', '::1', ['::1', '0:0:0:0:0:0:0:1'], ['127.0.0.1', '::2']],
  ])('matches %s', (_, entry, within, without) => {
    const skips = byAddress(entry);
    expect(within.map((text) => skips(origin(text)))).toEqual(within.map(() => true));
    expect(without.map((text) => skips(origin(text)))).toEqual(without.map(() => false));
  });

  it('never matches a string that is not an address', () => {
    const skips = byAddress('0.0.0.0/0', '::/0');
    for (const text of [
      undefined,
      '',
      'unknown',
      '010.0.0.1',
      '999.1.1.1',
      '1.2.3',
      '0x7f.1',
      '10',
      '10.0.0.1/8',
    ])
      expect(skips(origin(text))).toBe(false);
  });

  it('does not match the address of a proxy that is not trusted', () => {
    const skips = byAddress('10.0.0.0/8');
    expect(skips({ ...origin('10.0.0.1'), isUntrustedProxy: true })).toBe(false);
  });

  it('accepts any number of entries', () => {
    const skips = byAddress('203.0.113.7', '2001:db8::/32');
    expect(['203.0.113.7', '2001:db8::5', '203.0.113.8'].map((text) => skips(origin(text)))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each<unknown>([
    'localhost',
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '2001:db8::/129',
    '::ffff:10.0.0.0/95',
    '::ffff:10.0.0.0/8',
    '10.0.0',
    '010.0.0.1',
    '10.0.0.1:80',
    '[::1]',
    '[::1]:80',
    'fe80::1%eth0',
    ' 10.0.0.1',
    '10.0.0.1\n',
    '*',
    10,
    null,
    undefined,
    /10/,
  ])('rejects the entry %p and names it', (entry) => {
    expect(() => skipByAddress(['::1', entry], read)).toThrow(
      /^FreqLimitModule: skipAddresses\[1\]: .* is not an address or a range of addresses, such as/,
    );
  });
});

describe('skipUserAgents', () => {
  it('matches a pattern, or a part of the header', () => {
    const skips = byAgent(/^kube-probe\//, 'Uptime');
    const agents = [
      'kube-probe/1.30',
      'Mozilla kube-probe/1',
      'an UptimeBot',
      'uptime',
      '',
      undefined,
      ['Uptime'],
    ];
    expect(agents.map(skips)).toEqual([true, false, true, false, false, false, false]);
  });

  it.each(['g', 'y', 'gy', 'gi'])('matches the same each time with the flag %s', (flags) => {
    const pattern = new RegExp('bot', flags);
    pattern.lastIndex = 2;
    const skips = byAgent(pattern);
    expect([skips('bot'), skips('bot'), skips('bot'), skips('x')]).toEqual([true, true, true, false]);
    expect(pattern.lastIndex).toBe(2);
  });

  it('does not match a request without headers', () => {
    const skips = skipByUserAgent([/./], read)!;
    for (const headers of [undefined, null, {}, 'bot'])
      expect(skips(origin('203.0.113.7', headers))).toBe(false);
  });

  it.each<unknown>(['', 5, null, undefined, { test: () => true }])('rejects the entry %p', (entry) => {
    expect(() => skipByUserAgent(['a', entry], read)).toThrow(
      /^FreqLimitModule: skipUserAgents\[1\]: .* is not a RegExp or a string that the header contains/,
    );
  });
});

describe('a list to skip by', () => {
  it('returns nothing if it is empty', () => {
    expect([skipByAddress([], read), skipByUserAgent([], read)]).toEqual([undefined, undefined]);
  });

  it.each<unknown>(['10.0.0.0/8', null, { 0: '::1' }])('rejects %p instead of a list', (list) => {
    expect(() => skipByAddress(list, read)).toThrow(/^FreqLimitModule: skipAddresses: .* is not a list$/);
    expect(() => skipByUserAgent(list, read)).toThrow(/^FreqLimitModule: skipUserAgents: .* is not a list$/);
  });
});
