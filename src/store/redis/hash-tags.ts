import type { Check } from '../../core/check.js';
import { formatError, formatForLog, FreqLimitError } from '../../core/errors.js';

/** Chooses the hash tag of a check's counter. Counters with the same tag are in the same slot of the Cluster. */
export type HashTag = (check: Pick<Check, 'key' | 'name' | 'windowMs'>) => string;

export interface HashTagsOptions {
  readonly namespace: string;
  /** Replaces the tag that is computed from the key's value. */
  readonly hashTag: HashTag | undefined;
}

/** How many tags the key values are spread over: far more than a Cluster has servers, and few enough to share calls. */
const TAG_COUNT = 256;
const TAG = /^[^{}\s]{1,64}$/;

/**
 * The hash tags of counters: the part of a key in braces decides its slot (Redis Cluster specification, "Hash tags").
 *
 * All counters of one key value, such as a phone number by the minute and by the day, share a tag, so they are decided in
 * one step. The values are spread over a fixed number of tags, so that many requests still share a call.
 */
export class HashTags {
  constructor(private readonly options: HashTagsOptions) {}

  /** The tag of a check's counter. */
  tagOf(check: Check): string {
    const { hashTag } = this.options;
    if (hashTag !== undefined) return tagFrom(hashTag, check);
    return String(hash(check.key, check.group.length) % TAG_COUNT);
  }

  /** The key as Redis gets it. Nothing that a client sends comes before the tag. */
  keyOf(check: Check): string {
    const { namespace } = this.options;
    return `${namespace}:{${this.tagOf(check)}}${check.key.slice(namespace.length)}`;
  }
}

function tagFrom(hashTag: HashTag, check: Check): string {
  let tag: unknown;
  try {
    tag = hashTag(check);
  } catch (error) {
    throw failed(`threw: ${formatError(error)}`, error);
  }
  if (typeof tag === 'string' && TAG.test(tag)) return tag;
  throw failed(
    `returned ${formatForLog(tag)}; it must return a string of 1 to 64 characters without braces and spaces`,
  );
}

function failed(problem: string, cause?: unknown): FreqLimitError {
  return new FreqLimitError('FREQ_LIMIT_RULE_FAILED', `FreqLimitModule: hashTag ${problem}`, { cause });
}

/**
 * FNV-1a of a key, from the end of its group: fast, and the same in every process. A client can compute it and find values
 * with the same tag. With `hashKeys` the value is an HMAC, which a client cannot compute without the secret.
 */
function hash(key: string, from: number): number {
  let value = 0x811c9dc5;
  for (let i = from; i < key.length; i++) value = Math.imul(value ^ key.charCodeAt(i), 0x01000193);
  // the low bits alone depend little on the last characters
  return (value ^ (value >>> 15)) >>> 0;
}

/** A key up to its hash tag, which contains nothing that a client sends; `''` for a key without one. */
export function prefixWithTag(key: string): string {
  return key.slice(0, key.indexOf('}') + 1);
}
