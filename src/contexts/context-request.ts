import type { ExecutionContext } from '@nestjs/common';
import type { NormalizedValues, LimitedRequest, ClientRequest } from '../core/request.js';
import { canonicalAddress, GONE } from './client-address.js';
import type { ContextAdapter } from './context-adapter.js';
import { hasEarlierHop, isForwarded } from './forwarded.js';

interface ClientSocket {
  readonly remoteAddress?: unknown;
  readonly destroyed?: unknown;
}

/** The common part of the requests of Express, Fastify and Node. */
interface HttpRequest extends ClientRequest {
  /** The addresses from a trusted header; on Fastify the socket's own address comes first. */
  readonly ips?: unknown;
  /** Node's request; only on Fastify. */
  readonly raw?: unknown;
  readonly socket?: ClientSocket | null | undefined;
}

/** Reports problems with addresses that an operator should know about. */
export interface AddressWarnings {
  /** Called each time a client without an address is counted by address. */
  noAddress(): void;
  /** Whether to look for forwarded headers in this request. Call it once for each request. */
  shouldCheckProxy(): boolean;
  /** Called if a request has a forwarded header and its address is that of the socket. */
  untrustedProxy(): void;
}

/** A request as rules read it from its execution context. The address is read when a rule first needs it. */
export class ContextRequest implements LimitedRequest {
  readonly parts: HttpRequest | undefined;
  readonly isClientFacing: boolean;
  normalized: NormalizedValues | undefined = undefined;
  private known: { readonly address: string | undefined } | undefined;

  constructor(
    private readonly adapter: ContextAdapter,
    private readonly context: ExecutionContext,
    private readonly ipv6Subnet: number,
    private readonly warnings: AddressWarnings,
  ) {
    this.parts = adapter.request?.(context);
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
    const { parts } = this;
    const text =
      this.adapter.address?.(this.context) ??
      parts?.ip ??
      parts?.socket?.remoteAddress ??
      // a client must not escape a limit by disconnecting early
      (parts?.socket?.destroyed === true ? GONE : undefined);
    if (this.warnings.shouldCheckProxy() && this.isForwardedButUntrusted(text))
      this.warnings.untrustedProxy();
    return typeof text === 'string' && text !== '' ? text : undefined;
  }

  /** Whether the address belongs to a proxy that the application does not trust. */
  get isUntrustedProxy(): boolean {
    const { addressText: text, parts } = this;
    if (text === undefined) return false;
    return text === parts?.socket?.remoteAddress
      ? this.isForwardedButUntrusted(text)
      : hasEarlierHop(parts?.headers, text);
  }

  /** Whether a header shows that a proxy forwarded the request, but the address is still the socket's. */
  private isForwardedButUntrusted(address: unknown): boolean {
    const { parts } = this;
    if (address === undefined || address !== parts?.socket?.remoteAddress) return false;
    // serverless adapters set the socket's address to the last address of the header
    return isForwarded(parts.headers) && !isHeaderTrusted(parts);
  }
}

/** Whether the platform trusts the header and has read an address from it. */
function isHeaderTrusted({ ips, raw }: HttpRequest = {}): boolean {
  return Array.isArray(ips) && ips.length > (raw === undefined ? 0 : 1);
}
