// The tables about the kinds of counters.
import { number, table, threeDigits, threeDigitsWithInterval, whole, withInterval } from './markdown.mjs';

const KINDS = {
  'minimal script': 'a script with `INCR` and `PTTL`, without limits',
  'fixed window': 'fixed window',
  'sliding window': 'sliding window',
  'token bucket': 'token bucket',
  calendar: 'calendar window',
  'fixed window with blockFor': 'fixed window with `blockFor`',
  'one of each': 'all five kinds in one call',
  lease: 'lease',
};

const STATES = {
  passes: '',
  next: ', first request in a sub-window',
  new: ', new counter',
  denied: ', over the limit',
  renewed: ', renewed',
  released: ', released',
  refund: ', settled: part refunded',
  debt: ', settled: more charged',
};

/** What a check costs Redis, by the kind and the state of its counter, and by the checks of a call. */
function kinds({ algorithms }) {
  return byChecks(algorithms?.kinds, 'bytes of a counter');
}

/** The same for leases and settlements. */
function settlements({ algorithms }) {
  return byChecks(algorithms?.settlements, 'bytes');
}

function byChecks(sections, bytes) {
  if (sections === undefined) return undefined;
  const names = [...new Set(sections.flatMap(({ rows }) => rows.map(({ name }) => name)))];
  const rowOf = ({ rows }, name) => rows.find((row) => row.name === name);
  return table(
    ['per check', ...sections.flatMap(headOf), bytes],
    names.map((name) => [
      labelOf(name),
      ...sections.flatMap((section) => cellsOf(rowOf(section, name))),
      whole(rowOf(sections.at(-1), name)?.bytes),
    ]),
  );
}

/** The same, as a multiple of a fixed window, for counters that are open. */
function asMultiples({ algorithms }) {
  if (algorithms === undefined) return undefined;
  const sections = algorithms.kinds;
  const isKind = ({ name }) => name.endsWith(', passes') && name !== 'one of each, passes';
  const multiple = ({ rows }, name) => rows.find((row) => row.name === name)?.cpuToFixed;
  return table(
    ['', ...sections.map(({ checks }) => callOf(checks))],
    sections[0].rows.filter(isKind).map(({ name }) => [
      labelOf(name),
      ...sections.map((section) => {
        const found = multiple(section, name);
        return found && threeDigitsWithInterval(found);
      }),
    ]),
  );
}

export function labelOf(name) {
  const [kind, state = 'passes'] = name.split(', ');
  return (KINDS[kind] ?? kind) + (STATES[state] ?? `, ${state}`);
}

const headOf = ({ checks }) => [`${callOf(checks)}: Redis CPU, ratio`, 'µs'];

const callOf = (checks) => (checks === 1 ? '1 check per call' : `${checks} checks`);

const cellsOf = (row) =>
  row === undefined
    ? [undefined, undefined]
    : [threeDigitsWithInterval(row.cpu), threeDigits(row.cpuUs.mean)];

/** The fixed window, compared to its script before there were other kinds. */
function againstBefore({ algorithms }) {
  return (
    algorithms &&
    table(
      ['fixed window', 'Redis CPU before, µs', 'now, µs', 'ratio', 'time in the script, ratio'],
      algorithms.before.map(({ checks, state, script, cpu }) => [
        callOf(checks) + STATES[state],
        ...[cpu.before, cpu.now].map(({ mean }) => threeDigits(mean)),
        ...[cpu.ratio, script.ratio].map((ratio) => withInterval(ratio, 3)),
      ]),
    )
  );
}

const LIMITERS = {
  'ours, sliding window': 'nestjs-freq-limit, sliding window',
  'ours, token bucket': 'nestjs-freq-limit, token bucket',
  'ours, sliding window, no coalescing': 'nestjs-freq-limit, sliding window, `coalesce: false`',
  'ours, token bucket, no coalescing': 'nestjs-freq-limit, token bucket, `coalesce: false`',
  'upstash, sliding window': '@upstash/ratelimit, sliding window (an estimate from two fixed windows)',
  'upstash, token bucket': '@upstash/ratelimit, token bucket',
  'bursty, within the rate': 'rate-limiter-flexible, BurstyRateLimiter, within the rate',
  'bursty, above the rate': 'rate-limiter-flexible, BurstyRateLimiter, above the rate',
};

/** Other libraries, with one limit per request. */
function peers({ algorithms }) {
  const calls = (state) => number(state.calls.mean, 2);
  return (
    algorithms &&
    table(
      [
        ...['per request', 'Redis CPU, µs', 'of it in the script', 'Redis calls', 'CPU of the process, µs'],
        ...['denied: Redis CPU, µs', 'Redis calls', 'CPU of the process, µs'],
      ],
      algorithms.peers.map(({ name, passes, denied }) => [
        LIMITERS[name] ?? name,
        ...[threeDigitsWithInterval(passes.serverUs), threeDigits(passes.scriptUs.mean), calls(passes)],
        threeDigitsWithInterval(passes.clientUs),
        ...[threeDigitsWithInterval(denied.serverUs), calls(denied)],
        threeDigitsWithInterval(denied.clientUs),
      ]),
    )
  );
}

const REQUESTS = {
  'one limit': '1 limit',
  'one limit, settled': '1 limit, settled by `actualCost`',
  'a lease': '1 `concurrency` rule',
  'one limit and a lease': '1 limit and 1 `concurrency` rule',
  'one limit, settled, and a lease': '1 limit, settled by `actualCost`, and 1 `concurrency` rule',
  'five limits': '5 limits',
  'five limits, settled': '5 limits, settled by `actualCost`',
  'one limit, before': '1 limit, before',
  'five limits, before': '5 limits, before',
};

/** What requests with leases and settlements pay, over HTTP. */
function requests({ algorithms }) {
  return (
    algorithms?.requests &&
    table(
      ['added to a request', 'CPU of the process, µs', 'Redis CPU, µs', 'Redis calls'],
      algorithms.requests.rows.map(({ name, processUs, redisUs, calls }) => [
        REQUESTS[name] ?? name,
        ...[processUs, redisUs].map((us) => withInterval(us)),
        number(calls.mean, 2),
      ]),
    )
  );
}

const LIBRARIES = {
  ours: 'nestjs-freq-limit',
  'ours, no coalescing': 'nestjs-freq-limit, `coalesce: false`',
  flexible: 'rate-limiter-flexible',
  semaphore: 'redis-semaphore',
};

const WAYS = {
  charged: 'charged',
  'charged and settled': 'charged, and a part refunded',
  'taken and released': 'a lease, taken and released',
};

/** Requests that are charged and then settled, here and in another library. */
function settledPeers({ algorithms }) {
  return (
    algorithms?.settledPeers &&
    table(
      ['per request', 'Redis CPU, µs', 'of it in the script', 'Redis calls', 'CPU of the process, µs'],
      algorithms.settledPeers.map(({ name, serverUs, scriptUs, calls, clientUs }) => [
        settledLabelOf(name),
        threeDigitsWithInterval(serverUs),
        threeDigits(scriptUs.mean),
        number(calls.mean, 2),
        threeDigitsWithInterval(clientUs),
      ]),
    )
  );
}

function settledLabelOf(name) {
  const at = name.lastIndexOf(', ');
  return `${LIBRARIES[name.slice(0, at)]}: ${WAYS[name.slice(at + 2)]}`;
}

export const tables = {
  algorithms: kinds,
  'algorithms as multiples': asMultiples,
  'algorithms against before': againstBefore,
  'algorithms of other libraries': peers,
  settlements,
  'requests with settlements': requests,
  'settled requests': settledPeers,
};
