import { Logger } from '@nestjs/common';
import type { AddressWarnings } from '../contexts/client-request.js';

const FIRST_LOOKS = 1_000;
const LATER_LOOKS = 64;

/** Tells the log, once each, what an operator should know of his callers' addresses. */
export class LoggedAddressWarnings implements AddressWarnings {
  private readonly logger = new Logger('FreqLimit');
  private readonly told = new Set<string>();

  private looks = 0;

  /** Reading all headers takes time: only the first requests are checked, and later one in 64. */
  isWatching(): boolean {
    return this.looks++ < FIRST_LOOKS || this.looks % LATER_LOOKS === 0;
  }

  noAddress(): void {
    this.tellOnce(
      'A request came without an address, as over a unix socket: all such callers share one counter. ' +
        "Let Express's trust proxy or Fastify's trustProxy name the proxy in front; one on a unix socket has no address " +
        'to name: trust the nearest hop, on Express by 1, on Fastify by (address, hop) => hop === 0.',
    );
  }

  notBelieved(): void {
    this.tellOnce(
      'A request came with a forwarded header from an address that is not trusted to send one, and is counted by that ' +
        "address. Behind a proxy all of its clients share one counter so: let Express's trust proxy or Fastify's " +
        'trustProxy name it; clients of gateways on Fastify get their address from contextAdapters.ws.address. ' +
        'Without a proxy the client itself has written the header, and there is nothing to do. On a serverless platform ' +
        "this may already be the client's address: trust one hop there to end this warning.",
    );
  }

  private tellOnce(message: string): void {
    if (this.told.has(message)) return;
    this.told.add(message);
    this.logger.warn(message);
  }
}
