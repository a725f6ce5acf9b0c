import { type Flood, flooded, LIMIT, POLICIES } from './flood.js';

const SIZE = { connections: 300, bytes: 95_000, forMs: 1_500 };

const FLOODS: readonly Flood[] = [
  { platform: 'express', roundTripMs: 5, processes: 1, ...SIZE },
  { platform: 'express', roundTripMs: 0, processes: 4, ...SIZE },
  { platform: 'fastify', roundTripMs: 0, processes: 1, ...SIZE },
  { platform: 'fastify', roundTripMs: 5, processes: 4, ...SIZE },
];

describe('an application under a flood, with a healthy Redis', () => {
  it.each(FLOODS)(
    'keeps every limit: $platform, $processes processes, round trip $roundTripMs ms',
    async (flood) => {
      const { answers, runs, lines, stallMs, unsound } = await flooded(flood);
      // otherwise the test proves nothing
      expect(stallMs).toBeGreaterThan(200);
      expect({ lines, ...runs }).toEqual({ lines: [], memory: LIMIT, allow: LIMIT, deny: LIMIT });
      expect(unsound).toEqual([]);
      for (const policy of POLICIES) {
        const { 200: passed, 429: denied = 0, ...others } = answers[policy];
        expect(others).toEqual({});
        expect(passed).toBe(LIMIT);
        expect(denied).toBeGreaterThan(LIMIT);
      }
    },
  );
});
