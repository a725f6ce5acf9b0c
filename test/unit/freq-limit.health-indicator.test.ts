import { FreqLimitHealthIndicator } from '../../src/freq-limit.health-indicator.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import type { Store, StoreHealth } from '../../src/core/store.js';
import { quiet } from '../support/subjects.js';
import { thrownBy } from './fixtures.js';

function indicatorOf(health: StoreHealth): FreqLimitHealthIndicator {
  return new FreqLimitHealthIndicator({ health: () => health } as unknown as Store);
}

const UP: StoreHealth = { store: 'redis', isUp: true, reason: undefined, since: undefined };
const DOWN: StoreHealth = {
  store: 'redis',
  isUp: false,
  reason: 'connect ECONNREFUSED redis.internal:6379',
  since: new Date('2026-01-02T03:04:05.678Z'),
};

describe('the health indicator', () => {
  it('is up with its store, and says nothing else', () => {
    expect(indicatorOf(UP).isHealthy()).toStrictEqual({ freqLimit: { status: 'up', store: 'redis' } });
  });

  it('is up while its store is down, because onStoreError applies, and says so', () => {
    expect(indicatorOf(DOWN).isHealthy()).toStrictEqual({
      freqLimit: { status: 'up', store: 'redis', isDegraded: true, since: '2026-01-02T03:04:05.678Z' },
    });
  });

  it('is down with its store only with downIfDegraded', () => {
    const statuses = [undefined, false, true].map((downIfDegraded) => {
      const { freqLimit } = indicatorOf(DOWN).isHealthy('freqLimit', { downIfDegraded });
      expect(freqLimit.isDegraded).toBe(true);
      return freqLimit.status;
    });
    expect(statuses).toEqual(['up', 'up', 'down']);
    expect(indicatorOf(UP).isHealthy('freqLimit', { downIfDegraded: true })).toStrictEqual({
      freqLimit: { status: 'up', store: 'redis' },
    });
  });

  it('never says why, since the result may be public', () => {
    expect(JSON.stringify(indicatorOf(DOWN).isHealthy())).not.toContain('redis.internal');
  });

  it('uses the given key', () => {
    expect(indicatorOf(UP).isHealthy('limits')).toStrictEqual({ limits: { status: 'up', store: 'redis' } });
    const { limits } = indicatorOf(DOWN).isHealthy('limits', { downIfDegraded: true });
    expect(limits.status).toBe('down');
  });

  it('is always up with a memory store', () => {
    const indicator = new FreqLimitHealthIndicator(new MemoryStore(10, quiet));
    expect(indicator.isHealthy()).toStrictEqual({ freqLimit: { status: 'up', store: 'memory' } });
  });

  it('reads the state of the store each time', () => {
    let health = UP;
    const indicator = new FreqLimitHealthIndicator({ health: () => health } as unknown as Store);
    const statuses = [UP, DOWN, UP].map((one) => {
      health = one;
      return indicator.isHealthy('freqLimit', { downIfDegraded: true }).freqLimit.status;
    });
    expect(statuses).toEqual(['up', 'down', 'up']);
  });

  it.each<[unknown[], string]>([
    [[''], 'key: "" is not a string of at least one character'],
    [[{ downIfDegraded: true }], 'key: [object] is not a string of at least one character'],
    [['freqLimit', true], 'true is not an object with the options downIfDegraded'],
    [['freqLimit', { failIfDegraded: true }], 'failIfDegraded: is not an option (options: downIfDegraded)'],
    [['freqLimit', { downIfDegraded: 'yes' }], 'downIfDegraded: "yes" is not true or false'],
  ])('throws for wrong arguments: %j', (given, problem) => {
    const indicator = indicatorOf(UP);
    const isHealthy = indicator.isHealthy.bind(indicator) as (...all: unknown[]) => unknown;
    expect(thrownBy(() => isHealthy(...given))).toMatchObject({
      code: 'FREQ_LIMIT_INVALID_OPTIONS',
      message: expect.stringContaining(`FreqLimitHealthIndicator.isHealthy: ${problem}`),
    });
  });
});
