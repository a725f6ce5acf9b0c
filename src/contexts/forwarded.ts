/** Headers in which a proxy sends the address of its client, in lower case. */
export const ADDRESS_HEADERS: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'forwarded',
  'forwarded-for',
  'x-forwarded',
  'x-original-forwarded-for',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'fastly-client-ip',
  'fly-client-ip',
  'do-connecting-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-envoy-external-address',
  'x-nf-client-connection-ip',
  'x-vercel-forwarded-for',
  'x-vercel-ip',
  'ali-cdn-real-ip',
  'cdn-src-ip',
  'wl-proxy-client-ip',
  'proxy-client-ip',
  'cloudfront-viewer-address',
  'incap-client-ip',
  'x-sucuri-clientip',
  'x-arr-clientip',
  'x-proxyuser-ip',
  'x-originating-ip',
  'x-remote-ip',
  'x-remote-addr',
]);

/** Headers that proxies add, with or without the client's address. */
const PROXY_HEADERS: ReadonlySet<string> = new Set([
  ...ADDRESS_HEADERS,
  'via',
  // Cloudflare sends these even if it is configured to send no address
  'cdn-loop',
  'cf-ray',
  'x-amz-cf-id',
  'x-varnish',
  'x-forwarded-by',
  'x-forwarded-client-cert',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-forwarded-server',
  'x-forwarded-ssl',
]);

/** Whether a header shows that the request came through a proxy. */
export function isForwarded(headers: unknown): boolean {
  if (typeof headers !== 'object' || headers === null) return false;
  for (const name in headers) if (PROXY_HEADERS.has(name)) return true;
  return false;
}

/** Whether `X-Forwarded-For` shows that the client with this address is itself a proxy. */
export function hasEarlierHop(headers: unknown, address: string): boolean {
  const { 'x-forwarded-for': list } = Object(headers) as { readonly 'x-forwarded-for'?: unknown };
  if (typeof list !== 'string') return false;
  const end = list.indexOf(',');
  return end !== -1 && list.slice(0, end).trim() !== address;
}
