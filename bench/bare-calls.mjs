// Lower bound for a limiter on ioredis: prepared calls of a short script, with packed replies that are not used.
import { Redis } from 'ioredis';
import { TurnCalls } from './turn-calls.mjs';

const MAX_COUNTERS = 128;
const SCRIPT = `
local reply, k = {}, 0
for at = 1, #ARGV, 3 do
  local window, cost = ARGV[at], ARGV[at + 1]
  for _ = 1, tonumber(ARGV[at + 2]) do
    k = k + 1
    local used = redis.call('INCRBY', KEYS[k], cost)
    if used == tonumber(cost) then redis.call('PEXPIRE', KEYS[k], window) end
    reply[2 * k - 1], reply[2 * k] = used, redis.call('PTTL', KEYS[k])
  end
end
return cmsgpack.pack(reply)`;

export class BareCalls {
  /** @param requests the checks of each; @param keyOf the key of a check's counter */
  static async open(port, requests, keyOf) {
    const client = new Redis({ port });
    return new BareCalls(client, await client.script('LOAD', SCRIPT), requests, keyOf);
  }

  constructor(client, sha1, requests, keyOf) {
    this.turnCalls = new TurnCalls(client);
    this.calls = callsOf(requests, keyOf).map(({ size, counters }) => ({
      size,
      args: argsOf(sha1, counters),
    }));
    this.next = 0;
  }

  /** Keeps about `inFlight` requests in flight until the time is over. @returns milliseconds of each */
  async run(inFlight, ms) {
    const end = performance.now() + ms;
    const latencies = [];
    const worker = async () => {
      let from = performance.now();
      do {
        const { size, args } = this.calls[this.next++ % this.calls.length];
        await this.turnCalls.send(args);
        const now = performance.now();
        for (let i = 0; i < size; i++) latencies.push(now - from);
        from = now;
      } while (from < end);
    };
    await Promise.all(Array.from({ length: Math.ceil(inFlight / this.calls[0].size) }, worker));
    return latencies;
  }
}

/** The requests in calls of as many as have at most 128 counters together, each counter with its checks added up. */
function callsOf(requests, keyOf) {
  const calls = [];
  let call;
  for (const checks of requests) {
    if (call === undefined || call.counters.size + checks.length > MAX_COUNTERS) {
      call = { size: 0, counters: new Map() };
      calls.push(call);
    }
    call.size++;
    for (const check of checks) {
      const key = keyOf(check);
      const counter = call.counters.get(key) ?? { key, window: check.window * 1000, cost: 0 };
      counter.cost++;
      call.counters.set(key, counter);
    }
  }
  return calls;
}

/** Counters with the same window and cost follow one another, so that both are sent once for all of them. */
function argsOf(sha1, counters) {
  const runs = new Map();
  for (const { key, window, cost } of counters.values()) {
    const run = runs.get(`${window},${cost}`) ?? { window, cost, keys: [] };
    run.keys.push(key);
    runs.set(`${window},${cost}`, run);
  }
  const ordered = [...runs.values()];
  const keys = ordered.flatMap((run) => run.keys);
  return [
    sha1,
    keys.length,
    ...keys,
    ...ordered.flatMap((run) => [run.window, run.cost, run.keys.length]).map(String),
  ];
}
