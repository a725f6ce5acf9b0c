// The variants that are compared. Ratios are to the variant in `base`.
const ours = (limits, store, more) => ({ kind: 'ours', options: { limits, store, ...more } });
const peer = (kind, limits, store) => ({ kind, options: { limits, store } });

export const BARE = 'bare';
/** The same application once more: how far it is from the first is chance. */
export const BARE_AGAIN = 'bare again';

const before = (limits, store) => ({ ...ours(limits, store, { before: true }), needsOldBuild: true });

const guard = (name, limits, more) => ({ kind: `guards.${name}`, options: { limits, ...more } });

export const VARIANTS = {
  [BARE]: { kind: 'bare' },
  [BARE_AGAIN]: { kind: 'bare' },
  'constant 429': { kind: 'denying' },
  'empty guard': guard('empty'),
  'guard with headers 1': guard('headers', 1),
  'guard with headers 3': guard('headers', 3),
  'guard with headers 5': guard('headers', 5),
  'guard with evalsha 1 redis': guard('evalsha', 1),
  'guard with evalsha 3 redis': guard('evalsha', 3),
  'guard with evalsha 5 redis': guard('evalsha', 5),
  'guard with evalsha 5 redis 1000 clients': guard('evalsha', 5, { client: true }),
  'ours 1 memory': ours(1, 'memory'),
  'ours 3 memory': ours(3, 'memory'),
  'ours 5 memory': ours(5, 'memory'),
  'ours 1 redis': ours(1, 'redis'),
  'ours 3 redis': ours(3, 'redis'),
  'ours 5 redis': ours(5, 'redis'),
  'ours 5 redis 1000 clients': ours(5, 'redis', { key: '{headers.x-client}' }),
  'ours 1 redis no coalescing': ours(1, 'redis', { coalesce: false }),
  'ours 3 redis no coalescing': ours(3, 'redis', { coalesce: false }),
  'ours 5 redis no coalescing': ours(5, 'redis', { coalesce: false }),
  'ours 1 redis ioredis 5': ours(1, 'redis', { ioredis: 5 }),
  'ours 3 redis ioredis 5': ours(3, 'redis', { ioredis: 5 }),
  'ours 5 redis ioredis 5': ours(5, 'redis', { ioredis: 5 }),
  'ours 5 memory denied': { ...ours(5, 'memory', { denied: true }), base: 'constant 429' },
  'ours 5 redis denied': { ...ours(5, 'redis', { denied: true }), base: 'constant 429' },
  'before 1 memory': before(1, 'memory'),
  'before 5 memory': before(5, 'memory'),
  'before 1 redis': before(1, 'redis'),
  'before 5 redis': before(5, 'redis'),
  'throttler 1 memory': peer('throttler', 1, 'memory'),
  'throttler 5 memory': peer('throttler', 5, 'memory'),
  'throttler + nest-lab 1 redis': peer('throttler', 1, 'redis'),
  'throttler + nest-lab 5 redis': peer('throttler', 5, 'redis'),
  'rate-limiter-flexible 1 redis': peer('flexible', 1, 'redis'),
  'rate-limiter-flexible 5 redis': peer('flexible', 5, 'redis'),
};
