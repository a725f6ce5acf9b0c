import { createHash } from 'node:crypto';

// A counter's key is made of a head that the application's code alone decides,
//
//   namespace ':' rule id ':' windowMs ':'
//
// and the text of the key's parts. Whatever a visitor sends can only ever be in that text, and there it is
// either made of harmless characters or a hash; so no value reaches another rule's counter, holds a brace that
// would choose a Cluster slot, or makes a key longer than it should be.

/** What may stand in a key as it is. `|`, `~`, `^`, `!` and `#` are ours: a value with one of them is hashed. */
const PLAIN = /^[A-Za-z0-9._:@+-]+$/;
const MAX_PART_LENGTH = 48;
const MAX_TEXT_LENGTH = 64;

/** Between two parts of a key: `['a:b', 'c']` and `['a', 'b:c']` are two counters. */
export const PART_END = '|';

/** Head of the text that counts visits without a key by their address. No value can look like it. */
export const BY_ADDRESS = '!ip|';

/** The text that counts visits with neither key nor address. */
export const NO_ADDRESS = '!no-address';

/** One value as it stands in a key: itself where it is short and harmless, else a hash of it. */
export function encodePart(value: string): string {
  return value.length <= MAX_PART_LENGTH && PLAIN.test(value) ? value : `~${hash(value)}`;
}

/** Bounds the text of several parts; parts are already encoded. */
export function boundText(text: string): string {
  return text.length <= MAX_TEXT_LENGTH ? text : `^${hash(text)}`;
}

/** The text of a list of values. */
export function encodeParts(values: readonly string[]): string {
  return boundText(values.map(encodePart).join(PART_END));
}

/** The constant head of a counter's key; the key's text follows. */
export function keyPrefix(namespace: string, ruleId: string, windowMs: number): string {
  return `${namespace}:${ruleId}:${windowMs}:`;
}

const MAX_LABEL_LENGTH = 32;

/**
 * The id of a rule in its counters' keys: a label for people who look into Redis, and a hash of all that tells
 * the rule from every other one.
 */
export function ruleId(label: string, identity: readonly (string | undefined)[]): string {
  const readable = label.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, MAX_LABEL_LENGTH);
  return `${readable}~${hash(JSON.stringify(identity.map((part) => part ?? null))).slice(0, 10)}`;
}

/** 132 bits of SHA-256. Over UTF-16, since in UTF-8 all ill-formed strings would look alike. */
function hash(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url').slice(0, 22);
}
