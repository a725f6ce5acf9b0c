import type { AddressWarnings } from '../contexts/context-request.js';
import type { LogCode } from '../core/log-codes.js';
import { nestLog } from '../nest/log.js';

const FIRST_CHECKED = 1_000;
const ONE_IN = 64;

/** Logs, once each, that requests have no address, or that of a proxy. */
export class LoggedAddressWarnings implements AddressWarnings {
  private readonly logged = new Set<LogCode>();
  private requests = 0;

  /** Reading all headers takes time: only the first requests are checked, and one in 64 of the others. */
  shouldCheckProxy(): boolean {
    return this.requests++ < FIRST_CHECKED || this.requests % ONE_IN === 0;
  }

  noAddress(): void {
    this.logOnce(
      'FREQ_LIMIT_NO_ADDRESS',
      'A request has no IP address, for example because it came over a unix socket. All requests without an address share ' +
        'one counter. Set Express\'s "trust proxy" or Fastify\'s trustProxy to the proxy in front. A proxy on a unix socket ' +
        'has no address to name: trust the nearest hop, with 1 on Express or (address, hop) => hop === 0 on Fastify.',
    );
  }

  untrustedProxy(): void {
    this.logOnce(
      'FREQ_LIMIT_UNTRUSTED_PROXY',
      'A request with a header such as X-Forwarded-For came from an address that the application does not trust as a proxy, so it is ' +
        'counted by that address. If this is your proxy, all of its clients share one counter: set Express\'s "trust ' +
        'proxy" or Fastify\'s trustProxy to it; for gateways on Fastify, set contextAdapters.ws.address. If you have no ' +
        'proxy, the client wrote the header, and there is nothing to do. On a serverless platform the address may ' +
        "already be the client's: trust one hop there to end this warning.",
    );
  }

  private logOnce(code: LogCode, message: string): void {
    if (this.logged.has(code)) return;
    this.logged.add(code);
    nestLog.warn(code, message);
  }
}
