import type { Check, CheckResult } from '../../src/core/check.js';
import type { TimedSubject } from './timed-subjects.js';

/** A store for the tests of a `describe`, whose time only they move. */
export interface TimedSuite extends Pick<TimedSubject, 'store' | 'clock'> {
  advance(ms: number): void;
  consumeOne(check: Check): Promise<CheckResult>;
  peekOne(check: Check): Promise<CheckResult>;
}

export function timedSuite(start: () => Promise<TimedSubject>): TimedSuite {
  let subject: TimedSubject;
  beforeAll(async () => {
    subject = await start();
  });
  afterAll(() => subject.stop());
  return {
    get store() {
      return subject.store;
    },
    get clock() {
      return subject.clock;
    },
    advance: (ms) => void (subject.clock.nowMs += ms),
    consumeOne: async (check) => (await subject.store.consume([check]))[0]!,
    peekOne: async (check) => (await subject.store.peek([check]))[0]!,
  };
}
