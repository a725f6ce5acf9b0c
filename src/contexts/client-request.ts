import type { ExecutionContext } from '@nestjs/common';
import type { NormalizedValues, LimitedRequest, ClientRequest } from '../core/request.js';
import { canonicalAddress, GONE } from './client-address.js';
import type { ContextAdapter } from './context-adapter.js';
import { hasEarlierHop, isForwarded } from './forwarded.js';

interface Connection {
  readonly remoteAddress?: unknown;
  readonly destroyed?: unknown;
}

/** What requests of Express, of Fastify and of Node have in common. */
interface HttpRequest extends ClientRequest {
  /** The addresses from a trusted header; on Fastify the socket's own address comes first. */
  readonly ips?: unknown;
  /** Node's request; only on Fastify. */
  readonly raw?: unknown;
  readonly socket?: Connection | null | undefined;
}

/** Who is told, each time, of what an operator should know of addresses. */
export interface AddressWarnings {
  /** The address was asked for, and a client has none. */
  noAddress(): void;
  /** Whether to look for such a header in this request. */
  isWatching(): boolean;
  /** A forwarded header came, and the address is that of the socket all the same. */
  notBelieved(): void;
}

/** The visit behind an execution context. The address is worked out when a rule first asks for it. */
export class ContextRequest implements LimitedRequest {
  readonly request: HttpRequest | undefined;
  readonly isClientFacing: boolean;
  normalized: NormalizedValues | undefined = undefined;
  private known: { readonly address: string | undefined } | undefined;

  constructor(
    private readonly adapter: ContextAdapter,
    private readonly context: ExecutionContext,
    private readonly ipv6Subnet: number,
    private readonly advice: AddressWarnings,
  ) {
    this.request = adapter.request?.(context);
    this.isClientFacing = adapter.isClientFacing ?? true;
  }

  /** `request.ip`, which follows a forwarded header as far as the application's own proxy setting trusts it. */
  get address(): string | undefined {
    if (this.known === undefined) {
      const text = this.addressText;
      if (text === undefined && this.isClientFacing) this.advice.noAddress();
      this.known = { address: text === undefined ? undefined : canonicalAddress(text, this.ipv6Subnet) };
    }
    return this.known.address;
  }

  /** The address as the platform tells it. */
  get addressText(): string | undefined {
    const { request } = this;
    const text =
      this.adapter.address?.(this.context) ??
      request?.ip ??
      request?.socket?.remoteAddress ??
      // a client must not escape a limit by disconnecting early
      (request?.socket?.destroyed === true ? GONE : undefined);
    if (this.advice.isWatching() && this.isOfUntrustedProxy(text)) this.advice.notBelieved();
    return typeof text === 'string' && text !== '' ? text : undefined;
  }

  /** Whether the address is that of a proxy that the application does not trust. */
  get isProxy(): boolean {
    const { addressText: text, request } = this;
    if (text === undefined) return false;
    return text === request?.socket?.remoteAddress
      ? this.isOfUntrustedProxy(text)
      : hasEarlierHop(request?.headers, text);
  }

  /** Whether the address is the socket's although a header shows that a proxy has forwarded the request. */
  private isOfUntrustedProxy(address: unknown): boolean {
    const { request } = this;
    if (address === undefined || address !== request?.socket?.remoteAddress) return false;
    // serverless adapters set the socket's address to the last address of the header
    return isForwarded(request.headers) && !isBelieved(request);
  }
}

/** Whether the platform trusts the header, and has read an address from it. */
function isBelieved({ ips, raw }: HttpRequest = {}): boolean {
  return Array.isArray(ips) && ips.length > (raw === undefined ? 0 : 1);
}
