import type { Check } from '../../core/check.js';
import { FreqLimitError, formatForLog, formatError } from '../../core/errors.js';

/** Puts a check's counter into a slot: answers a text, and what has one text lies in one slot. */
export type HashTag = (check: Pick<Check, 'key' | 'name' | 'windowMs'>) => string;

/** Where the counters of a Cluster lie. */
export interface HashTagsOptions {
  readonly namespace: string;
  /** How many hash tags the subjects are spread over. */
  readonly buckets: number;
  /** Takes the place of the spread. */
  readonly hashTag: HashTag | undefined;
}

/**
 * The hash tags of counters: what stands in braces in a key decides its slot (Redis Cluster specification, "Hash tags").
 *
 * Counters of one subject — one phone number by the minute and by the day — share a tag, so they are decided in one
 * step. Subjects are spread over a fixed number of tags, so that the checks of many requests still share calls.
 */
export class HashTags {
  constructor(private readonly options: HashTagsOptions) {}

  /** The tag of a check: its part of the store. */
  tagOf(check: Check): string {
    const { hashTag, buckets } = this.options;
    if (hashTag !== undefined) return given(hashTag, check);
    return String(hash(check.key, check.group.length) % buckets);
  }

  /** The counter's key as the server gets it. Nothing a caller sends comes before the tag. */
  keyOf(check: Check): string {
    const { namespace } = this.options;
    return `${namespace}:{${this.tagOf(check)}}${check.key.slice(namespace.length)}`;
  }
}

const TAG = /^[^{}\s]{1,64}$/;

function given(hashTag: HashTag, check: Check): string {
  let tag: unknown;
  try {
    tag = hashTag(check);
  } catch (error) {
    throw failed(`failed: ${formatError(error)}`, error);
  }
  if (typeof tag === 'string' && TAG.test(tag)) return tag;
  throw failed(
    `answered ${formatForLog(tag)}, which is not a text of 1 to 64 characters without braces and spaces`,
  );
}

function failed(problem: string, cause?: unknown): FreqLimitError {
  return new FreqLimitError('FREQ_LIMIT_RULE_FAILED', `FreqLimitModule: hashTag ${problem}`, { cause });
}

/**
 * FNV-1a of a key's text, from where its group ends: fast, and the same in every process. Anybody can compute it and find
 * values of one tag. With `hashKeys` the text is an HMAC, which cannot be computed without the secret.
 */
function hash(key: string, from: number): number {
  let value = 0x811c9dc5;
  for (let i = from; i < key.length; i++) value = Math.imul(value ^ key.charCodeAt(i), 0x01000193);
  // the low bits alone would tell little of the last characters
  return (value ^ (value >>> 15)) >>> 0;
}
