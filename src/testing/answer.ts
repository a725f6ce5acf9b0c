/** An answer of the application: a `Response` of `fetch`, of supertest, or of Fastify's `inject`. */
export type Answer = { readonly status: number } | { readonly statusCode: number };

/** Sends one request. */
export type SendRequest = () => Answer | PromiseLike<Answer>;

/** What an answer says of limits. */
export interface Seen {
  readonly status: number;
  /** The header `Retry-After`; `undefined` where there is none. */
  readonly retryAfter: string | undefined;
}

interface AnyAnswer {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly headers?: unknown;
  readonly bodyUsed?: unknown;
  arrayBuffer?(): Promise<unknown>;
}

/**
 * Sends the request and reads the answer to its end.
 * @throws {TypeError} when what comes back is no answer
 */
export async function see(send: SendRequest): Promise<Seen> {
  const answer = Object(await send()) as AnyAnswer;
  const status = answer.status ?? answer.statusCode;
  if (typeof status !== 'number') throw new TypeError('a visit must resolve to an answer with a status');
  const retryAfter = header(answer.headers, 'retry-after');
  // a body of fetch that nobody reads holds its connection
  if (answer.bodyUsed === false) await answer.arrayBuffer?.();
  return { status, retryAfter };
}

function header(headers: unknown, name: string): string | undefined {
  const bag = Object(headers) as Partial<Headers> & Readonly<Record<string, unknown>>;
  const value: unknown = typeof bag.get === 'function' ? bag.get(name) : bag[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
