import { Inject, Injectable } from '@nestjs/common';
import { FREQ_LIMIT_GUARD } from '../../../src/core/tokens.js';
import { FreqLimitGuard } from '../../../src/freq-limit.guard.js';
import { enforcesLimits, injectsFreqLimitGuard, isFreqLimitGuard } from '../../../src/nest/guards.js';

class Subclass extends FreqLimitGuard {}

class OfAnotherCopy {
  static readonly [FREQ_LIMIT_GUARD] = true;
}

@Injectable()
class ByType {
  constructor(readonly guard: FreqLimitGuard) {}
}

class ByToken {
  constructor(@Inject(FreqLimitGuard) readonly guard: object) {}
}

class ByProperty {
  @Inject(FreqLimitGuard) readonly guard: unknown;
}

class Other {}

it.each([FreqLimitGuard, Subclass, OfAnotherCopy, new OfAnotherCopy()])('%p enforces limits', (guard) => {
  expect(isFreqLimitGuard(guard)).toBe(true);
  expect(enforcesLimits(guard)).toBe(true);
});

it.each([ByType, ByToken, ByProperty, new ByProperty()])('%p may call the guard', (guard) => {
  expect(isFreqLimitGuard(guard)).toBe(false);
  expect(injectsFreqLimitGuard(guard)).toBe(true);
  expect(enforcesLimits(guard)).toBe(true);
});

it.each([Other, new Other(), undefined, null, 'text', Object.create(null)])('%p does not', (guard) => {
  expect(enforcesLimits(guard)).toBe(false);
});
