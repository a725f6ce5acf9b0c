import { createHash } from 'node:crypto';
import { withLastResult } from './last-result.js';

// The key of a counter has a prefix that depends on the application's code only,
//
//   namespace ':' rule id ':' window ':'
//
// and then the encoded values that the rule counts by. The window says how the counter counts: `60000` is a fixed window of
// a minute, `60000s` a sliding window, `60000b` a token bucket, `month@europe/berlin` a calendar, and `leases` a concurrency
// counter. The limit, the burst and the life of a lease are not in it: they may change, and then apply to the existing counters.
//
// Values from clients are only in the second part, and contain safe characters only or are hashed. So no value can reach
// the counter of another rule, choose a Cluster slot with a brace, or make a key too long. A function may choose the time
// zone of a calendar by a value from a client, but the name of a time zone contains neither a colon nor a brace.

/** Values that need no hash. `|`, `~`, `^`, `!` and `#` have a meaning in keys: a value with one of them is hashed. */
const PLAIN = /^[A-Za-z0-9._:@+-]+$/;
const MAX_PART_LENGTH = 48;
const MAX_TEXT_LENGTH = 64;

/** Separates the values in a key, so that `['a:b', 'c']` and `['a', 'b:c']` are two counters. */
export const PART_END = '|';

/** Prefix for requests without a key value, which are counted by their address. No encoded value begins like this. */
export const BY_ADDRESS = '!ip|';

/** For requests without a key value and without an address. */
export const NO_ADDRESS = '!no-address';

/** Encodes one value: unchanged if it is short and safe, else as a hash. */
export function encodePart(value: string): string {
  return value.length <= MAX_PART_LENGTH && PLAIN.test(value) ? value : `~${hashPart(value)}`;
}

/** Replaces encoded values by a hash if together they are too long. */
export function boundText(text: string): string {
  return text.length <= MAX_TEXT_LENGTH ? text : `^${hash(text)}`;
}

/** Encodes a list of values. */
export function encodeParts(values: readonly string[]): string {
  return boundText(values.map(encodePart).join(PART_END));
}

/** Follows the length of the window in keys. A fixed window has none. */
const LETTERS = { 'fixed-window': '', 'sliding-window': 's', 'token-bucket': 'b' };

/** The window in the keys of a counter that has a window of a length, in milliseconds. A concurrency counter has none. */
export function windowPart(kind: keyof typeof LETTERS | 'concurrency', windowMs: number | string): string {
  return kind === 'concurrency' ? 'leases' : `${windowMs}${LETTERS[kind]}`;
}

/**
 * The prefix of the keys of a rule's counters; the encoded values follow.
 * @param window what `windowPart` returns, or the id of a calendar; a number is a fixed window in milliseconds
 */
export function keyPrefix(namespace: string, ruleId: string, window: string | number): string {
  return `${namespace}:${ruleId}:${window}:`;
}

const MAX_LABEL_LENGTH = 32;

/**
 * The id of a rule in the keys of its counters: a readable label for people who look into Redis, and a hash of
 * everything that distinguishes the rule from others.
 */
export function ruleId(label: string, identity: readonly (string | undefined)[]): string {
  const readable = label.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, MAX_LABEL_LENGTH);
  return `${readable}~${hash(JSON.stringify(identity.map((part) => part ?? null))).slice(0, 10)}`;
}

const hashPart = withLastResult(hash);

/** 132 bits of SHA-256. Over UTF-16, because in UTF-8 all broken surrogates would be equal. */
function hash(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url').slice(0, 22);
}
