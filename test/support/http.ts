/** Posts JSON. */
export function post(
  url: string,
  body: unknown = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** The limit headers of a response. */
export function limitHeaders(response: Pick<Response, 'headers'>): Record<string, string> {
  const names = ['ratelimit-policy', 'ratelimit', 'retry-after'];
  return Object.fromEntries(
    [...response.headers].filter(([name]) => names.includes(name) || name.startsWith('x-ratelimit')),
  );
}

/** Names and remaining units of the `RateLimit` header, in order: `{ daily: 9 }`. */
export function remaining(response: Pick<Response, 'headers'>): Record<string, number> {
  const header = response.headers.get('ratelimit') ?? '';
  return Object.fromEntries(
    [...header.matchAll(/"([^"]+)";a=(\d+)/g)].map(([, name, a]) => [name!, Number(a)]),
  );
}
