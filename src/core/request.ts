/** The parts of a client's request that keys read. Which of them exist depends on the kind of context. */
export interface ClientRequest {
  /** The client's address; a forwarded one only if a trusted proxy sent it. */
  readonly ip?: unknown;
  /** The user that the application's own guard has set, never one that the client only claims to be. */
  readonly user?: unknown;
  /** The data that the client sent: an HTTP body, a message's payload, a resolver's arguments. */
  readonly body?: unknown;
  /** The parameters of the route's path. */
  readonly params?: unknown;
  /** The parameters of the URL's query. */
  readonly query?: unknown;
  /** The headers, with names in lower case. */
  readonly headers?: unknown;
}

/** Results of `normalize` functions for a request: for each function its last value and that value's normalized text. */
export type NormalizedValues = Map<unknown, { readonly text: string; readonly answer: string }>;

/** A request as rules read it. */
export interface LimitedRequest {
  /** Lets several rules call a `normalize` function once for the same value. `undefined` until the first call. */
  normalized?: NormalizedValues | undefined;
  /** What keys read; `undefined` if nothing is known about the client. */
  readonly parts: ClientRequest | undefined;
  /** The client's normalized address; `undefined` if it has none. */
  readonly address: string | undefined;
  /** Whether it comes from a client, with or without an address. If not, requests without an address are not limited by address. */
  readonly isClientFacing: boolean;
}
