/** What keys read of the request behind a visit, as far as its kind of context has it. */
export interface ClientRequest {
  /** The client's address, a forwarded one only where a trusted proxy says it. */
  readonly ip?: unknown;
  /** Whom the application's own guard has recognised. Never what the caller says of himself. */
  readonly user?: unknown;
  /** What the caller sent: an HTTP body, a message's payload, a resolver's arguments. */
  readonly body?: unknown;
  readonly params?: unknown;
  readonly query?: unknown;
  /** Header names are in lower case. */
  readonly headers?: unknown;
}

/** Results of `normalize` functions for a request: for each function its last value, and the text that it became. */
export type NormalizedValues = Map<unknown, { readonly text: string; readonly answer: string }>;

/** What the rules may know of a visit. */
export interface LimitedRequest {
  /** So that several rules call a `normalize` function once for the same value. `undefined` until the first call. */
  normalized?: NormalizedValues | undefined;
  /** `undefined` where nothing is known of the caller. */
  readonly request: ClientRequest | undefined;
  /** The client's address in its one canonical spelling; `undefined` where there is none. */
  readonly address: string | undefined;
  /** Whether a client is behind it, with an address or without; else nobody is told apart by address. */
  readonly isClientFacing: boolean;
}
