interface Interval {
  readonly mean: number;
  readonly from: number;
  readonly to: number;
}

/** CPU µs, half of its interval, Redis µs, calls, garbage: of Fastify. All figures are invented. */
const ADDED: Record<string, readonly [number, number, number, number, number]> = {
  bare: [0, 0, 0.3, 0, 3],
  'bare again': [0.4, 1.9, 0.3, 0, 3],
  'constant 429': [14.2, 2.1, 0.3, 0, 9],
  'empty guard': [0.3, 2, 0.3, 0, 3],
  'guard with headers 1': [1.1, 1.8, 0.3, 0, 3.2],
  'guard with headers 5': [1.6, 1.7, 0.3, 0, 3.3],
  'guard with evalsha 1 redis': [12.3, 2.2, 15.1, 1, 6],
  'guard with evalsha 5 redis': [28.9, 2.8, 26, 1, 8],
  'ours 1 memory': [3.2, 2, 0.3, 0, 3.4],
  'ours 3 memory': [4.3, 1.9, 0.3, 0, 3.5],
  'ours 5 memory': [5.6, 2.1, 0.3, 0, 3.6],
  'ours 1 redis': [14.1, 2.4, 3.5, 0.42, 4.1],
  'ours 3 redis': [17, 2.2, 4.2, 0.42, 4.4],
  'ours 5 redis': [19.8, 2.6, 5, 0.42, 4.8],
  'ours 5 redis 1000 clients': [24, 3, 9, 0.45, 5],
  'ours 5 memory denied': [16, 2, 0.3, 0, 9],
  'ours 5 redis denied': [16.4, 2.2, 0.4, 0.01, 9],
  'before 1 memory': [9, 2.1, 0.3, 0, 6],
  'before 5 memory': [25, 2.6, 0.3, 0, 11],
  'before 1 redis': [38, 3.4, 3.5, 0.42, 12],
  'before 5 redis': [48, 4.1, 5, 0.42, 19],
  'throttler 1 memory': [8.1, 2, 0.3, 0, 5],
  'throttler 5 memory': [31, 2.7, 0.3, 0, 14],
  'throttler + nest-lab 1 redis': [46.3, 3.6, 22.4, 1, 16],
  'throttler + nest-lab 5 redis': [238.7, 8.9, 99.1, 5, 71],
  'rate-limiter-flexible 1 redis': [41.8, 3.3, 18.2, 1, 15],
  'rate-limiter-flexible 5 redis': [151.2, 7.4, 72.4, 5, 58],
};

const around = (mean: number, half: number): Interval => ({ mean, from: mean - half, to: mean + half });

function rowsOf(times: number, rateOf: (name: string) => number) {
  return Object.entries(ADDED).map(([name, [cpuUs, half, redisUs, calls, garbageKb]]) => ({
    name,
    cpuUs: around(cpuUs * times, half * times),
    gcUs: around(cpuUs * 0.1, half * 0.1),
    p50Ms: around(cpuUs * 0.0015, half * 0.003),
    p99Ms: around(cpuUs * 0.004, half * 0.02),
    redisUs,
    calls,
    denied: name.endsWith('denied') ? 0.99 : name === 'constant 429' ? 1 : 0,
    totalCpuUs: 90 + cpuUs,
    garbageKb,
    perSecond: rateOf(name),
  }));
}

const conditions = { perSecond: 4000, blocks: 8, rounds: 5, seconds: 1, seed: 42 };

const goals = [
  {
    name: 'memory, 5 limits, added to a guard with the same headers',
    unit: 'µs',
    goal: 6,
    ...around(4, 1.9),
  },
  { name: 'one evalsha, added to a guard with the same headers', unit: 'µs', ...around(11.2, 2) },
  { name: 'Redis, 1 limit, to one evalsha', unit: '×', goal: 1.2, ...around(1.16, 0.09) },
  { name: 'each further limit, Redis', unit: 'µs', goal: 1.5, ...around(2.4, 0.3) },
  { name: 'a goal that has no plain words yet', unit: 'µs', goal: 1, mean: 0.5, from: null, to: null },
];

const throughput = (name: string, median: number, base = 'bare') => ({
  ...{ name, base, throughput: median, from: median - 0.04, to: median + 0.05 },
  ...{ appCpu: 1 / median, redisCpuUs: 4.26, calls: name.includes('redis') ? 0.03 : 0 },
  denied: name.endsWith('denied') ? 0.998 : 0,
});

const perCheck = (name: string, serverCpu: number, clientUs: number) => ({
  ...{ name, serverCpu, clientUs, serverUs: serverCpu * 1.2 },
});

const storeRows = [
  perCheck('raw INCR + PTTL', 1, 0.4),
  perCheck('ours', 1.47, 1.9),
  perCheck('rate-limiter-flexible', 10.1, 28),
];

const COST = ['requests/s', 'Redis µs/request', 'process µs/request', 'p50 ms', 'p99 ms'];

const live = (id: string) => ({
  id,
  columns: ['counters', ...COST, 'bytes each'],
  rows: [
    [1000, 241000, 1.59, 4.09, 2.26, 5.33, null],
    [1000000, 201000, 2.94, 5.03, 2.49, 7.39, 145],
  ],
});

const growth = [
  live('counters-redis'),
  live('counters-memory'),
  {
    id: 'in-flight',
    columns: ['in flight', ...COST, 'calls/request'],
    rows: [[10, 146000, 2.1, 4, 1, 3.6, 0.1]],
  },
  {
    id: 'processes',
    columns: [
      'processes',
      'requests/s each',
      'Redis µs/request',
      'calls/request',
      'allowed of twice as many',
    ],
    rows: [[16, 100, 41, 0.98, 4000]],
  },
];

/** A row of the kinds of counters, `times` as slow as the minimal script. */
const kindRow = (name: string, times: number) => ({
  ...{ name, bytes: name === 'minimal script' ? undefined : 88 },
  ...{ cpu: around(times, 0.05), cpuUs: around(1.4 * times, 0.1), cpuToFixed: around(times / 1.1, 0.06) },
});

const kindRows = [
  kindRow('minimal script', 1),
  kindRow('fixed window, passes', 1.1),
  kindRow('sliding window, passes', 1.62),
  kindRow('token bucket, passes', 2.42),
  kindRow('sliding window, next', 2.1),
  kindRow('fixed window with blockFor, new', 1.8),
  kindRow('calendar, denied', 3),
];

const change = (ratio: number) => ({
  before: around(1.5, 0.1),
  now: around(1.5 * ratio, 0.1),
  ratio: around(ratio, 0.004),
});

const costs = (us: number, calls: number) => ({
  ...{ serverUs: around(us, 0.4), scriptUs: around(us / 2, 0.2) },
  ...{ calls: around(calls, 0), clientUs: around(us * 1.5, 0.9) },
});

const algorithms = {
  kinds: [
    { checks: 1, rows: kindRows },
    { checks: 32, rows: [...kindRows, kindRow('one of each, passes', 1.9)] },
  ],
  before: [
    { checks: 1, state: 'passes', script: change(0.98), cpu: change(0.97) },
    { checks: 1, state: 'denied', script: change(1.21), cpu: change(1.2) },
    { checks: 32, state: 'passes', script: change(1.01), cpu: change(1.028) },
  ],
  peers: [
    { name: 'ours, token bucket', passes: costs(2.8, 0.009), denied: costs(0.13, 0.0005) },
    { name: 'bursty, above the rate', passes: costs(14.2, 2), denied: costs(14.6, 2) },
  ],
  settlements: [1, 32].map((checks) => ({
    checks,
    rows: [
      kindRow('minimal script', 1),
      kindRow('fixed window', 1.1),
      kindRow('lease, passes', 2.9),
      kindRow('lease, renewed', 1.4),
      kindRow('token bucket, debt', 2.2),
    ],
  })),
  requests: {
    perSecond: 2000,
    rows: [
      { name: 'one limit', processUs: around(31, 2), redisUs: around(12, 1), calls: around(0.8, 0) },
      { name: 'a lease', processUs: around(44.2, 3), redisUs: around(20, 1), calls: around(1.31, 0) },
      {
        name: 'one limit, before',
        processUs: around(31.4, 2),
        redisUs: around(12, 1),
        calls: around(0.8, 0),
      },
    ],
  },
  settledPeers: [
    { name: 'ours, charged and settled', ...costs(3.1, 0.02) },
    { name: 'ours, no coalescing, taken and released', ...costs(12.3, 2) },
    { name: 'flexible, charged', ...costs(6.2, 1) },
  ],
};

const origin = {
  date: '2030-01-02',
  machine: { processor: 'Invented CPU', cores: 4 },
  versions: {
    ...{ node: 'v20.20.2', '@nestjs/core': '12.5.1', ioredis: '6.0.0', redis: '7.0.15' },
    ...{ '@nestjs/throttler': '6.7.1', '@nest-lab/throttler-storage-redis': '1.2.0' },
    ...{ 'rate-limiter-flexible': '11.4.0', '@upstash/ratelimit': '2.2.0' },
  },
};

/** Results of the shape that `npm run bench` writes. */
export const results = {
  measured: {
    ...{ 'rate fastify': origin, 'rate express': origin, 'http fastify': origin, 'http express': origin },
    ...{ store: origin, growth: origin, algorithms: origin },
  },
  rate: {
    fastify: { ...conditions, rows: rowsOf(1, () => 4000), goals },
    express: { ...conditions, rows: rowsOf(1.15, rateOf) },
  },
  http: {
    fastify: [
      throughput('bare', 1),
      throughput('ours 5 redis', 0.72),
      throughput('ours 5 memory', 0.87),
      throughput('ours 5 redis denied', 0.9, 'constant 429'),
    ],
    express: [throughput('bare', 1), throughput('ours 5 memory', 0.93)],
  },
  store: [
    { title: '3 limits a request, all keys distinct, 200 in flight', rows: storeRows },
    {
      title: '3 limits a request, 1 for all, 1 of 8 routes, 1 of 4000 clients, 200 in flight',
      rows: storeRows,
    },
    { title: '32 checks a request, 16 requests in flight', rows: storeRows },
  ],
  algorithms,
  longestCalls: [{ name: '128 requests of 1 check', medianMs: 0.1, maxMs: 0.21 }],
  growth,
};

function rateOf(name: string): number {
  return /nest-lab|flexible/.test(name) ? 1800 : 3600;
}
