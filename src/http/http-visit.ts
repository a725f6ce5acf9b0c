import type { ExecutionContext } from '@nestjs/common';
import type { Visit } from '../core/visit.js';
import { canonicalAddress } from './client-address.js';

/** What Express and Fastify requests have in common. */
interface HttpRequest extends Readonly<Record<string, unknown>> {
  readonly ip?: unknown;
  readonly socket?: { readonly remoteAddress?: unknown };
}

/** The visit behind an execution context. The address is worked out when a rule first asks for it. */
export class HttpVisit implements Visit {
  private known: { readonly address: string | undefined } | undefined;

  private constructor(
    readonly request: HttpRequest | undefined,
    private readonly ipv6Subnet: number,
  ) {}

  static of(context: ExecutionContext, ipv6Subnet: number): HttpVisit {
    const request = context.getType() === 'http' ? context.getArgByIndex<HttpRequest>(0) : undefined;
    return new HttpVisit(request, ipv6Subnet);
  }

  /** `request.ip`, which follows a forwarded header as far as the application's own proxy setting trusts it. */
  get address(): string | undefined {
    this.known ??= { address: this.readAddress() };
    return this.known.address;
  }

  private readAddress(): string | undefined {
    const text = this.request?.ip ?? this.request?.socket?.remoteAddress;
    return typeof text === 'string' && text !== '' ? canonicalAddress(text, this.ipv6Subnet) : undefined;
  }
}
