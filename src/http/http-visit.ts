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
    private readonly onNoAddress: () => void,
  ) {}

  /** `onNoAddress` is told when the address is asked for and there is none. */
  static of(context: ExecutionContext, ipv6Subnet: number, onNoAddress: () => void): HttpVisit {
    const request = context.getType() === 'http' ? context.getArgByIndex<HttpRequest>(0) : undefined;
    return new HttpVisit(request, ipv6Subnet, onNoAddress);
  }

  /** `request.ip`, which follows a forwarded header as far as the application's own proxy setting trusts it. */
  get address(): string | undefined {
    this.known ??= { address: this.readAddress() };
    return this.known.address;
  }

  /** The address as the request tells it. */
  get addressText(): string | undefined {
    const text = this.request?.ip ?? this.request?.socket?.remoteAddress;
    return typeof text === 'string' && text !== '' ? text : undefined;
  }

  private readAddress(): string | undefined {
    const text = this.addressText;
    if (text !== undefined) return canonicalAddress(text, this.ipv6Subnet);
    if (this.request !== undefined) this.onNoAddress();
    return undefined;
  }
}
