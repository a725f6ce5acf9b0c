import type { ExecutionContext } from '@nestjs/common';
import type { MaybePromise } from '../../core/maybe-promise.js';
import type { LimitedRequest } from '../../core/request.js';

/** A function of the handler's execution context, sync or async. Called once per request. */
export type FromContext<T> = (context: ExecutionContext) => MaybePromise<T>;

/** A value to count by. A number and its string are the same value. `''`, `null` and `undefined` are missing values. */
export type KeyValue = string | number | bigint | boolean | null | undefined;

/**
 * What a rule counts by.
 *
 * - A string is a template: `{ip}`, `{user.id}`, `{body.phone}`, `{params.id}`, `{query.q}`, `{headers.x-api-key}`.
 *   A template without placeholders is one counter for all clients: `'all'`, or `'all:…'`.
 * - A function of the execution context returns the value, or an array of values.
 * - An array combines templates and functions. Its values stay separate: `['a:b', 'c']` and `['a', 'b:c']` are two counters.
 */
export type KeySpec = KeyPart | readonly KeyPart[];

/** A template or a function, as in `KeySpec`. */
export type KeyPart = string | FromContext<KeyValue | readonly KeyValue[]>;

/**
 * Maps the spellings of a value to one, so that they share a counter.
 *
 * - `'email'`: Unicode NFKC, lower case, without surrounding blanks and invisible characters; an international domain in
 *   ASCII. Dots and `+tags` stay.
 * - `'phone'`: the digits, after a `+` if the number starts with `+` or `00`. `138…` and `+86138…` stay two numbers.
 * - A function from string to string, sync. If it returns `''`, the value is missing.
 *
 * `'email'` and `'phone'` accept at most 1,024 characters. A request with a longer value gets 400.
 */
export type Normalize = 'email' | 'phone' | ((value: string) => string);

/** Reads the text of a key from a request. Returns `undefined` if the request lacks a value. */
type KeyReader = (request: LimitedRequest, context: ExecutionContext) => MaybePromise<string | undefined>;

/** Reads the value of one placeholder. */
export interface ValueReader {
  readonly path: string;
  readonly read: (request: LimitedRequest) => unknown;
}

/** Makes the text of a key from values that a caller of `FreqLimitService` passes. */
export type KeyFiller = (
  values: readonly unknown[],
  canonical: (address: string) => string,
) => string | undefined;

/** A key that is checked and parsed. Its text is the last part of a counter's key, see `core/counter-key.ts`. */
export interface CompiledKey {
  /** The declaration as a string, with `ƒ` for each function. It distinguishes rules without a name. */
  readonly spec: string;
  /** The declared templates and functions. Keys with different sources count by different things. */
  readonly sources: readonly (string | FromContext<unknown>)[];
  /** Whether a function is part of the key, so that reading it may wait or fail. */
  readonly isDynamic: boolean;
  /** The paths of the placeholders in order, such as `body.phone`. */
  readonly paths: readonly string[];
  /** Reads the values of the placeholders, in order. */
  readonly readers: readonly ValueReader[];
  /** The `normalize` of each placeholder and function in order; `undefined` where there is none. */
  readonly normalizers: readonly (Normalize | undefined)[];
  readonly read: KeyReader;
  /**
   * Makes the same text from given values: one for each placeholder in order, or what the key function would return.
   * @param canonical brings an IP address into the form that the address of a request has
   * @throws {TypeError} if the number of values is wrong
   */
  readonly textFromValues: KeyFiller;
}
