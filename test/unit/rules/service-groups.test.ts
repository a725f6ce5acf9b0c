import { ServiceGroups } from '../../../src/rules/service-groups.js';

const MINUTE_MS = 60_000;

describe('ServiceGroups', () => {
  const windows: unknown[] = [];
  const groupsOf = (namespace = 'app'): ServiceGroups => {
    windows.length = 0;
    return new ServiceGroups(namespace, (window) => windows.push(window));
  };

  it('finds a group by its name and its window as they were written', () => {
    const groups = groupsOf();
    expect(groups.find('sms', '1m')).toBeUndefined();
    const group = groups.add('sms', '1m', MINUTE_MS);
    expect(groups.find('sms', '1m')).toBe(group);
    expect(groups.find('sms', 60)).toBeUndefined();
    expect(groups.find(undefined, '1m')).toBeUndefined();
    expect(group.windowMs).toBe(MINUTE_MS);
    expect(group.prefix).toMatch(/^app:service\.sms~[^:]+:60000:$/);
  });

  it('has the same prefix for the same window in another form, and another one for each name and window', () => {
    const groups = groupsOf();
    const prefix = (name: string | undefined, window: unknown, ms: number): string =>
      groups.add(name, window, ms).prefix;
    const first = prefix('sms', '1m', MINUTE_MS);
    expect(prefix('sms', 60, MINUTE_MS)).toBe(first);
    const others = [
      prefix('sms', '2m', 2 * MINUTE_MS),
      prefix('mail', '1m', MINUTE_MS),
      prefix(undefined, '1m', MINUTE_MS),
    ];
    expect(new Set([first, ...others]).size).toBe(4);
  });

  it('reports the first window of each name', () => {
    const groups = groupsOf();
    groups.add('sms', '1m', MINUTE_MS);
    groups.add('sms', '2m', 2 * MINUTE_MS);
    groups.add(undefined, '3m', 3 * MINUTE_MS);
    expect(windows).toEqual(['1m', '3m']);
  });

  type Group = [name: string, window: string, windowMs: number];

  it.each<[string, (i: number) => Group]>([
    ['names', (i) => [`name ${i}`, '1m', MINUTE_MS]],
    ['windows', (i) => ['sms', `${i}ms`, i]],
  ])('is bounded if an application makes up %s, and stays right', (_, groupOf) => {
    const groups = groupsOf();
    const first = groups.add(...groupOf(1));
    for (let i = 2; i <= 2_500; i++) groups.add(...groupOf(i));
    let known = 0;
    for (let i = 1; i <= 2_500; i++) {
      const [name, window] = groupOf(i);
      if (groups.find(name, window) !== undefined) known++;
    }
    expect(known).toBeGreaterThan(0);
    expect(known).toBeLessThanOrEqual(1_000);
    expect(groups.add(...groupOf(1))).toEqual(first);
  });
});
