import type { Check } from '../../core/check.js';
import { keyPrefix, windowPart } from '../../core/counter-key.js';
import { FIXED_WINDOW, type FixedWindow, type SlidingWindow } from '../../core/counter-kind.js';
import { PendingRequest } from './batch.js';
import type { BatchSender } from './batch-sender.js';
import type { ServerHealth } from './server-health.js';
import type { Servers } from './servers.js';

/** When the counter of a probe expires. */
const WINDOW_MS = 1_000;

/** Finds out whether servers with an open breaker are back, by charging a counter of the limiter's own. */
export class Probes {
  constructor(
    private readonly batches: BatchSender,
    private readonly servers: Servers,
    private readonly health: ServerHealth,
    private readonly namespace: string,
  ) {}

  /** Probes all servers with an open breaker. */
  probeAll(): void {
    for (const server of this.health.openServers()) this.probe(server);
  }

  /** Probes a server with an open breaker, if its pause is over. The health of the server gets the outcome. */
  probe(server: string): void {
    if (!this.health.breakerOf(server).admits()) return;
    const key = this.servers.keyOn(server, (tag) => probeKey(this.namespace, tag));
    if (key === undefined) return;
    this.batches.sendAlone(new PendingRequest([probeCheck(key)], true)).catch(() => undefined);
  }
}

/** A kind of counter for each script of requests. */
type ProbeKind = FixedWindow | SlidingWindow;

/** The counter of a probe, in the slot of a tag. */
export function probeKey(namespace: string, tag: number, { type }: ProbeKind = FIXED_WINDOW): string {
  return keyPrefix(namespace, `{${tag}}:probe`, windowPart(type, WINDOW_MS));
}

/** Charges the counter of a probe. */
export function probeCheck(key: string, kind: ProbeKind = FIXED_WINDOW): Check {
  return {
    key,
    group: key,
    text: '',
    name: 'probe',
    windowMs: WINDOW_MS,
    kind,
    limit: Infinity,
    cost: 1,
    block: undefined,
    countDenied: false,
    shadow: false,
    onStoreError: 'allow',
  };
}
