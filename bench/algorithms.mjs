// The kinds of counters: the cost of their checks, leases and settlements for Redis, the fixed window compared to before, what
// requests pay, and other libraries.
import { fixedWindowAgainstBefore } from './algorithms/before.mjs';
import { kindsOfCounter } from './algorithms/kinds.mjs';
import { peersWithKinds } from './algorithms/peers.mjs';
import { requestsWithSettlements } from './algorithms/requests.mjs';
import { peersThatSettle } from './algorithms/settlement-peers.mjs';
import { leasesAndSettlements } from './algorithms/settlements.mjs';

export async function benchAlgorithms(redis, options, say) {
  return {
    kinds: await kindsOfCounter(redis, options, say),
    before: await fixedWindowAgainstBefore(redis, options, say),
    peers: await peersWithKinds(redis, options, say),
    settlements: await leasesAndSettlements(redis, options, say),
    requests: await requestsWithSettlements(redis, options, say),
    settledPeers: await peersThatSettle(redis, options, say),
  };
}
