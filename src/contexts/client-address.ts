import ipaddr from 'ipaddr.js';

/** Used instead of the address of a client that disconnected before its address was read. */
export const GONE = 'gone';

/** Enough for 45 characters of IPv6, brackets, a port and a zone id. */
const MAX_ADDRESS = 128;

/**
 * Normalizes a client's address, so that each client has one counter.
 *
 * IPv4 in IPv6 (`::ffff:192.0.2.1`) becomes the IPv4 address. Ports and zone ids are removed. An IPv6 address becomes its
 * network of `ipv6Subnet` bits, because one host can choose any address of its /64. A string that is not an address stays
 * as it is: it comes from a proxy that the application trusts.
 */
export function canonicalAddress(text: string, ipv6Subnet: number): string {
  // the usual case: a plain IPv4 address
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return text;
  const address = parseAddress(text);
  if (address === undefined) return text;
  if (address.kind() === 'ipv4') return address.toString();
  return ipv6Client(address as ipaddr.IPv6, ipv6Subnet);
}

/** Parses an address without its port and zone id, IPv4 in IPv6 as IPv4; `undefined` if the text is not an address. */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (text.length > MAX_ADDRESS) return undefined;
  const bare = text
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/s, '');
  if (!ipaddr.IPv4.isValidFourPartDecimal(bare) && !ipaddr.IPv6.isValid(bare)) return undefined;
  return ipaddr.process(bare);
}

function ipv6Client(address: ipaddr.IPv6, ipv6Subnet: number): string {
  switch (address.range()) {
    case 'loopback':
      return address.toString();
    // translators between IPv4 and IPv6 (RFC 6052, RFC 7915) put the IPv4 address into the last four bytes
    case 'rfc6052':
    case 'rfc6145':
      return address.toByteArray().slice(-4).join('.');
    default:
      return ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${ipv6Subnet}`).toString();
  }
}
