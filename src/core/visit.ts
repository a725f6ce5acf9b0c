/** What the rules may know of the request behind a visit. */
export interface Visit {
  /** The request: where `user`, `body`, `params`, `query` and `headers` are read. `undefined` where there is none. */
  readonly request: Readonly<Record<string, unknown>> | undefined;
  /** The client's address in its one canonical spelling; `undefined` where there is none. */
  readonly address: string | undefined;
}
