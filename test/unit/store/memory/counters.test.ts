import { type Counter } from '../../../../src/store/memory/counter-group.js';
import { Counters } from '../../../../src/store/memory/counters.js';
import { check } from '../../../support/check.js';

const WINDOW_MS = 1_000;

/** Counters, and how many were dropped before they expired. */
function make(most: number): {
  counters: Counters;
  evicted: () => number;
  put: typeof put;
  get: typeof get;
} {
  let evicted = 0;
  const counters = new Counters(most, () => evicted++);
  const get = (key: string, nowMs: number, windowMs = WINDOW_MS): Counter | undefined =>
    counters.get(check(key, { windowMs }), nowMs);
  const put = (key: string, nowMs: number, isFull = false, windowMs = WINDOW_MS): void => {
    const counter = get(key, nowMs, windowMs) ?? counters.open(check(key, { windowMs }), nowMs);
    counter.used += 1;
    if (isFull) counter.group.markAtLimit(counter);
    counters.tidy(String(windowMs), nowMs);
  };
  return { counters, evicted: () => evicted, put, get };
}

describe('Counters', () => {
  it('keeps a counter through the last millisecond of its window', () => {
    const { counters, get, put } = make(10);
    put('a', 0);
    expect(get('a', WINDOW_MS)?.used).toBe(1);
    expect(get('a', WINDOW_MS + 1)).toBeUndefined();
    expect(counters.size).toBe(0);
  });

  it('removes two expired counters for each new one', () => {
    const { counters, get, put } = make(100);
    for (let i = 0; i < 50; i++) put(`old-${i}`, i);
    for (let i = 0; i < 50; i++) put(`new-${i}`, 5_000 + i);
    expect(counters.size).toBe(50);
    expect(get('new-0', 5_050)?.used).toBe(1);
  });

  it('removes expired counters of groups without requests', () => {
    const { counters, put } = make(1_000);
    for (let i = 0; i < 20; i++) put(`short-${i}`, 0, i % 2 === 0, 10 + i);
    for (let i = 0; i < 60; i++) put(`long-${i}`, 100, false, 60_000);
    expect(counters.size).toBe(60);
  });

  it('drops the counter that is the next to expire', () => {
    const { counters, get, put, evicted } = make(3);
    put('long', 0, false, 60_000);
    put('first', 1);
    put('second', 2);
    put('third', 3);
    expect(counters.size).toBe(3);
    expect(get('first', 4)).toBeUndefined();
    expect(
      [get('long', 4, 60_000), get('second', 4), get('third', 4)].map((counter) => counter?.used),
    ).toEqual([1, 1, 1]);
    expect(evicted()).toBe(1);
  });

  it('drops a counter at its limit only if all are', () => {
    const { counters, get, put, evicted } = make(2);
    put('blocked', 0, true);
    put('open', 1);
    put('other', 2);
    expect(get('blocked', 2)?.used).toBe(1);
    expect(get('open', 2)).toBeUndefined();
    expect(evicted()).toBe(1);
    put('other', 3, true);
    put('third', 4, true);
    expect(get('blocked', 4)).toBeUndefined();
    expect(counters.size).toBe(2);
    expect(evicted()).toBe(2);
  });

  it('drops a counter of the group with the most counters', () => {
    const { counters, get, put } = make(10);
    put('victim', 0, true, 60_000);
    for (let i = 0; i < 1_000; i++) put(`made-up-${i}`, i, true, 86_400_000);
    expect(counters.size).toBe(10);
    expect(get('victim', 1_000, 60_000)?.used).toBe(1);
  });

  it('does not report an expired counter as evicted', () => {
    const { counters, put, evicted } = make(2);
    put('a', 0, true, 10);
    put('b', 0, true, 10);
    for (let i = 0; i < 2; i++) put(`later-${i}`, 1_000 + i, true);
    expect(counters.size).toBe(2);
    expect(evicted()).toBe(0);
  });

  it('removes an expired counter before it drops another one', () => {
    const { counters, get, put, evicted } = make(3);
    put('ended', 0, true, 10);
    put('living', 1);
    put('other', 2);
    put('new', 100);
    expect(counters.size).toBe(3);
    expect(get('living', 100)?.used).toBe(1);
    expect(evicted()).toBe(0);
  });

  it('keeps a counter that reaches its limit later', () => {
    const { get, put } = make(2);
    put('a', 0);
    put('a', 1, true);
    put('b', 2);
    put('c', 3);
    expect(get('a', 3)?.used).toBe(2);
  });

  it('deletes one or all', () => {
    const { counters, get, put } = make(10);
    put('a', 0);
    put('b', 0);
    counters.delete(get('a', 0)!);
    expect([get('a', 0), counters.size]).toEqual([undefined, 1]);
    counters.clear();
    expect(counters.size).toBe(0);
    put('c', 1);
    expect(counters.size).toBe(1);
  });

  it.each(['__proto__', 'constructor', '', '\0'])('counts the key %j like any other', (key) => {
    const { get, put } = make(10);
    expect(get(key, 0)).toBeUndefined();
    put(key, 0);
    put(key, 0);
    expect(get(key, 0)?.used).toBe(2);
  });
});
