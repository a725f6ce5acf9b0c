// The kinds of counters: the cost of their checks for Redis, the fixed window compared to before, and other libraries.
import { fixedWindowAgainstBefore } from './algorithms/before.mjs';
import { kindsOfCounter } from './algorithms/kinds.mjs';
import { peersWithKinds } from './algorithms/peers.mjs';

export async function benchAlgorithms(redis, options, say) {
  return {
    kinds: await kindsOfCounter(redis, options, say),
    before: await fixedWindowAgainstBefore(redis, options, say),
    peers: await peersWithKinds(redis, options, say),
  };
}
