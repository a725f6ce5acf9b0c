import type { FreqLimitService } from 'nestjs-freq-limit';
import type { TestClock } from 'nestjs-freq-limit/testing';

/** A limit of 5 per minute. Returns how many requests pass at each time. */
export async function aroundTheBoundary(limits: FreqLimitService, clock: TestClock) {
  const send = async (requests: number) => {
    let passed = 0;
    for (let i = 0; i < requests; i++) {
      const { allowed } = await limits.consume({ key: 'ann', window: '1m', limit: 5 });
      if (allowed) passed++;
    }
    return passed;
  };

  const at0s = await send(1); // 1 passes and opens the window
  clock.advance('59s');
  const at59s = await send(10); // 4 pass: the window has had its 5
  clock.advance('1s');
  const at60s = await send(10); // 5 pass: the first of them opens a new window
  return { at0s, at59s, at60s };
}
