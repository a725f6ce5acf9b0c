import type ipaddr from 'ipaddr.js';
import { types } from 'node:util';
import { formatForLog } from '../core/errors.js';
import { Mistakes } from '../core/mistakes.js';
import type { OptionReader } from '../core/validate.js';
import { parseAddress } from './client-address.js';

/** The facts that decide whether a request skips all limits. */
export interface RequestOrigin {
  /** The address as the platform reports it. */
  readonly addressText: string | undefined;
  /** Whether it is the address of a proxy that the application does not trust. */
  readonly isUntrustedProxy: boolean;
  readonly parts: { readonly headers?: unknown } | undefined;
}

/** Whether the module's options make a request skip all limits. */
export type IsSkipped = (origin: RequestOrigin) => boolean;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [network: Address, bits: number];

const EXPECTED_RANGE =
  "an address or a range of addresses, such as '203.0.113.7', '10.0.0.0/8' or '2001:db8::/32'";
const EXPECTED_AGENT = 'a RegExp or a string that the header contains';

/**
 * Compiles `skipAddresses`.
 * @returns `undefined` if the list is empty
 * @throws the reader's error, with a line for each invalid entry
 */
export function skipByAddress(list: unknown, reader: OptionReader): IsSkipped | undefined {
  const ranges = listOf('skipAddresses', list, rangeOf, reader);
  if (ranges.length === 0) return undefined;
  // reads the second property only where it is needed: both are getters
  return (origin) => isIn(ranges, origin.addressText) && !origin.isUntrustedProxy;
}

/**
 * Compiles `skipUserAgents`.
 * @returns `undefined` if the list is empty
 * @throws the reader's error, with a line for each invalid entry
 */
export function skipByUserAgent(list: unknown, reader: OptionReader): IsSkipped | undefined {
  const agents = listOf('skipUserAgents', list, agentOf, reader);
  if (agents.length === 0) return undefined;
  return ({ parts }) => isOneOf(agents, parts?.headers);
}

function listOf<T>(option: string, list: unknown, parse: (entry: unknown) => T, reader: OptionReader): T[] {
  if (!Array.isArray(list)) throw reader.invalid(option, `${formatForLog(list)} is not a list`);
  const mistakes = new Mistakes();
  const parsed = Array.from(list, (entry: unknown, i) =>
    mistakes.attempt(() => reader.parsed(`${option}[${i}]`, () => parse(entry))),
  );
  return mistakes.orThrow(parsed as T[]);
}

// ---- addresses

function isIn(ranges: readonly Range[], text: string | undefined): boolean {
  const address = text === undefined ? undefined : parseAddress(text);
  if (address === undefined) return false;
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

function rangeOf(entry: unknown): Range {
  const [text = '', bits, ...rest] = typeof entry === 'string' ? entry.split('/') : [];
  // ports and zone ids belong to connections, so an entry with one is a mistake
  const address = /^[\da-f:.]+$/i.test(text) && !/\.\d+:/.test(text) ? parseAddress(text) : undefined;
  if (address === undefined || rest.length > 0)
    throw new TypeError(`${formatForLog(entry)} is not ${EXPECTED_RANGE}`);
  const maxBits = address.toByteArray().length * 8;
  if (bits === undefined) return [address, maxBits];
  // IPv4 in IPv6 was parsed as IPv4, which is the last 32 of its 128 bits
  const shift = maxBits === 32 && text.includes(':') ? 96 : 0;
  const length = /^\d{1,3}$/.test(bits) ? Number(bits) - shift : -1;
  if (length < 0 || length > maxBits) throw new TypeError(`${formatForLog(entry)} is not ${EXPECTED_RANGE}`);
  return [address, length];
}

// ---- user agents

function isOneOf(agents: readonly ((agent: string) => boolean)[], headers: unknown): boolean {
  const agent = (Object(headers) as { readonly 'user-agent'?: unknown })['user-agent'];
  return typeof agent === 'string' && agents.some((matches) => matches(agent));
}

function agentOf(entry: unknown): (agent: string) => boolean {
  if (typeof entry === 'string' && entry !== '') return (agent) => agent.includes(entry);
  if (!types.isRegExp(entry)) throw new TypeError(`${formatForLog(entry)} is not ${EXPECTED_AGENT}`);
  const pattern = new RegExp(entry.source, entry.flags);
  return (agent) => {
    // with the flags g and y a pattern continues where it stopped
    pattern.lastIndex = 0;
    return pattern.test(agent);
  };
}
