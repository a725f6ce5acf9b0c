import type { ExecutionContext } from '@nestjs/common';
import type { NormalizedValues, LimitedRequest, ClientRequest } from '../core/request.js';
import { canonicalAddress, GONE } from './client-address.js';
import type { ContextAdapter } from './context-adapter.js';
import { hasEarlierHop, isForwarded } from './forwarded.js';

interface Connection {
  readonly remoteAddress?: unknown;
  readonly destroyed?: unknown;
}

/** The common part of the requests of Express, Fastify and Node. */
interface HttpRequest extends ClientRequest {
  /** The addresses from a trusted header; on Fastify the socket's own address comes first. */
  readonly ips?: unknown;
  /** Node's request; only on Fastify. */
  readonly raw?: unknown;
  readonly socket?: Connection | null | undefined;
}

/** Reports problems with addresses that an operator should know about. */
export interface AddressWarnings {
  /** Called each time a client without an address is counted by address. */
  noAddress(): void;
  /** Whether to look for forwarded headers in this request. */
  isWatching(): boolean;
  /** Called if a request has a forwarded header and its address is that of the socket. */
  notBelieved(): void;
}

/** The request that an execution context belongs to. The address is read when a rule first needs it. */
export class ContextRequest implements LimitedRequest {
  readonly request: HttpRequest | undefined;
  readonly isClientFacing: boolean;
  normalized: NormalizedValues | undefined = undefined;
  private known: { readonly address: string | undefined } | undefined;

  constructor(
    private readonly adapter: ContextAdapter,
    private readonly context: ExecutionContext,
    private readonly ipv6Subnet: number,
    private readonly warnings: AddressWarnings,
  ) {
    this.request = adapter.request?.(context);
    this.isClientFacing = adapter.isClientFacing ?? true;
  }

  /** `request.ip`, normalized. It follows forwarded headers as far as the application's proxy setting trusts them. */
  get address(): string | undefined {
    if (this.known === undefined) {
      const text = this.addressText;
      if (text === undefined && this.isClientFacing) this.warnings.noAddress();
      this.known = { address: text === undefined ? undefined : canonicalAddress(text, this.ipv6Subnet) };
    }
    return this.known.address;
  }

  /** The address as the platform reports it. */
  get addressText(): string | undefined {
    const { request } = this;
    const text =
      this.adapter.address?.(this.context) ??
      request?.ip ??
      request?.socket?.remoteAddress ??
      // a client must not escape a limit by disconnecting early
      (request?.socket?.destroyed === true ? GONE : undefined);
    if (this.warnings.isWatching() && this.isOfUntrustedProxy(text)) this.warnings.notBelieved();
    return typeof text === 'string' && text !== '' ? text : undefined;
  }

  /** Whether the address belongs to a proxy that the application does not trust. */
  get isProxy(): boolean {
    const { addressText: text, request } = this;
    if (text === undefined) return false;
    return text === request?.socket?.remoteAddress
      ? this.isOfUntrustedProxy(text)
      : hasEarlierHop(request?.headers, text);
  }

  /** Whether a header shows that a proxy forwarded the request, but the address is still the socket's. */
  private isOfUntrustedProxy(address: unknown): boolean {
    const { request } = this;
    if (address === undefined || address !== request?.socket?.remoteAddress) return false;
    // serverless adapters set the socket's address to the last address of the header
    return isForwarded(request.headers) && !isBelieved(request);
  }
}

/** Whether the platform trusts the header and has read an address from it. */
function isBelieved({ ips, raw }: HttpRequest = {}): boolean {
  return Array.isArray(ips) && ips.length > (raw === undefined ? 0 : 1);
}
