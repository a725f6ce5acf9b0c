import fc from 'fast-check';
import { canonicalAddress } from '../../../src/contexts/client-address.js';

const byte = fc.integer({ min: 0, max: 255 });
const ipv4 = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.'));
// outside of the ranges in which an IPv6 address contains an IPv4 address
const group = fc.integer({ min: 0, max: 0xffff });
const network = fc.tuple(fc.integer({ min: 0x2000, max: 0x3fff }), group, group, group);
const host = fc.tuple(group, group, group, group);
const spelled = (groups: readonly number[]): string => groups.map((one) => one.toString(16)).join(':');

describe('canonicalAddress', () => {
  it.each([
    '203.0.113.7',
    '::ffff:203.0.113.7',
    '::FFFF:203.0.113.7',
    '::ffff:cb00:7107',
    '0:0:0:0:0:ffff:203.0.113.7',
    '0:0:0:0:0:ffff:cb00:7107',
    '0000:0000:0000:0000:0000:FFFF:CB00:7107',
    '203.0.113.7:5000',
    '[::ffff:203.0.113.7]',
    '[::ffff:203.0.113.7]:443',
    '::ffff:203.0.113.7%eth0',
    '203.0.113.7%eth0',
  ])('normalizes %s to the IPv4 address 203.0.113.7', (text) => {
    expect(canonicalAddress(text, 64)).toBe('203.0.113.7');
  });

  it.each([
    '2001:db8::1',
    '2001:DB8::1',
    '2001:0db8:0000:0000:0000:0000:0000:0001',
    '2001:db8:0:0:ffff:ffff:ffff:ffff',
    '[2001:db8::1]',
    '[2001:db8::1]:443',
    '2001:db8::1%eth0',
    '2001:db8::1%br-lan.2',
    '[2001:DB8::1%25eth0]:443',
  ])('normalizes %s to its /64', (text) => {
    expect(canonicalAddress(text, 64)).toBe('2001:db8::');
  });

  it.each([
    [32, '2001:db8::'],
    [48, '2001:db8:1::'],
    [56, '2001:db8:1:200::'],
    [64, '2001:db8:1:234::'],
    [127, '2001:db8:1:234:5:6:7:8'],
    [128, '2001:db8:1:234:5:6:7:9'],
  ])('keeps %d bits', (bits, address) => {
    expect(canonicalAddress('2001:DB8:1:234:5:6:7:9', bits)).toBe(address);
  });

  it('keeps the network of a link-local address, without the zone', () => {
    expect(canonicalAddress('fe80::1%eth0', 64)).toBe('fe80::');
    expect(canonicalAddress('fe80::1%eth0', 128)).toBe('fe80::1');
  });

  it.each([
    'unknown',
    '_hidden',
    '',
    ' ',
    '-',
    'unix:',
    'a%b',
    '1::2::3',
    '[::1',
    'localhost:80',
    '\0',
    '{ip}',
  ])('keeps %j, which is not an address', (text) => {
    expect(canonicalAddress(text, 64)).toBe(text);
  });

  it.each(['1', '1.2.3', '0x7f.1', '4294967295'])(
    'does not take %j for an address of another client',
    (text) => {
      expect(canonicalAddress(text, 64)).toBe(text);
    },
  );

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 32, max: 128 }), (text, bits) => {
        expect(typeof canonicalAddress(text, bits)).toBe('string');
      }),
    );
  });

  it('normalizes each form of an IPv4 address to the same text', () => {
    fc.assert(
      fc.property(ipv4, fc.integer({ min: 1, max: 65_535 }), (address, port) => {
        const spellings = [address, `${address}:${port}`, `::ffff:${address}`, `[::ffff:${address}]:${port}`];
        expect(new Set(spellings.map((text) => canonicalAddress(text, 64)))).toEqual(new Set([address]));
      }),
    );
  });

  it('gives the hosts of one /64 one address, and the hosts of two /64 two addresses', () => {
    fc.assert(
      fc.property(network, network, host, host, (netA, netB, hostA, hostB) => {
        const at = (...groups: (readonly number[])[]): string => canonicalAddress(spelled(groups.flat()), 64);
        expect(at(netA, hostA)).toBe(at(netA, hostB));
        expect(at(netA, hostA) === at(netB, hostA)).toBe(spelled(netA) === spelled(netB));
      }),
    );
  });

  it('leaves a normalized address as it is', () => {
    fc.assert(
      fc.property(network, host, fc.constantFrom(48, 56, 64, 128), (net, end, bits) => {
        const address = canonicalAddress(spelled([...net, ...end]), bits);
        expect(canonicalAddress(address, bits)).toBe(address);
        expect(canonicalAddress(address.toUpperCase(), bits)).toBe(address);
      }),
    );
  });

  it.each([
    ['64:ff9b::1.2.3.4', '1.2.3.4'],
    ['64:ff9b::102:305', '1.2.3.5'],
    ['::ffff:0:1.2.3.4', '1.2.3.4'],
    ['::1', '::1'],
  ])('does not cut %s to a network: %s', (text, address) => {
    expect(canonicalAddress(text, 64)).toBe(address);
  });
});
