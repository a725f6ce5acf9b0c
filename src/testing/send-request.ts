/** A response of the application: a `Response` of `fetch`, a response of supertest, or one of Fastify's `inject`. */
export type TestResponse = { readonly status: number } | { readonly statusCode: number };

/** Sends one request and returns its response. */
export type SendRequest = () => TestResponse | PromiseLike<TestResponse>;

/** What a response says about limits. */
export interface LimitResponse {
  readonly status: number;
  /** The header `Retry-After`; `undefined` without one. */
  readonly retryAfter: string | undefined;
}

interface AnyResponse {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly headers?: unknown;
  readonly bodyUsed?: unknown;
  arrayBuffer?(): Promise<unknown>;
}

/**
 * Sends the request and reads the response to its end.
 * @throws {TypeError} if the result is not a response
 */
export async function sendAndRead(send: SendRequest): Promise<LimitResponse> {
  const response = Object(await send()) as AnyResponse;
  const status = response.status ?? response.statusCode;
  if (typeof status !== 'number')
    throw new TypeError('a request must resolve to a response with a status (a number)');
  const retryAfter = header(response.headers, 'retry-after');
  // the connection of fetch stays open until the body is read
  if (response.bodyUsed === false) await response.arrayBuffer?.();
  return { status, retryAfter };
}

function header(headers: unknown, name: string): string | undefined {
  const bag = Object(headers) as Partial<Headers> & Readonly<Record<string, unknown>>;
  const value: unknown = typeof bag.get === 'function' ? bag.get(name) : bag[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
