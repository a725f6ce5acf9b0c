import type { ExecutionContext } from '@nestjs/common';
import type { MaybePromise } from '../../core/maybe-promise.js';

/** A function of the handler's execution context, sync or async, called once per visit. */
export type FromContext<T> = (context: ExecutionContext) => MaybePromise<T>;

/** A value that can be counted by. A number and its text are one value; `''`, `null` and `undefined` are none. */
export type KeyValue = string | number | bigint | boolean | null | undefined;

/**
 * Whom a rule counts by.
 *
 * - A text is a template: `{ip}`, `{user.id}`, `{body.phone}`, `{params.id}`, `{query.q}`, `{headers.x-api-key}`.
 *   One without placeholders is one counter for all callers together.
 * - A function of the context answers the value, or a list of values.
 * - A list holds templates and functions; its parts never run into each other.
 */
export type KeySpec = KeyPart | readonly KeyPart[];
export type KeyPart = string | FromContext<KeyValue | readonly KeyValue[]>;

/**
 * How values are spelt before they are counted by.
 *
 * - `'email'`: NFKC, without control and zero-width characters and blanks around it, lower case, an international
 *   domain in ASCII; dots and `+tags` stay;
 * - `'phone'`: the digits, with a `+` where it begins with `+` or `00`; `138…` and `+86138…` stay two;
 * - a function from text to text, sync; `''` is a missing key.
 *
 * `'email'` and `'phone'` accept at most 1,024 characters: a request with a longer value is denied with 400.
 */
export type Normalize = 'email' | 'phone' | ((value: string) => string);
