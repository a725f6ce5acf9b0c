export type { Answer, Visit } from './answer.js';
export { expectLimited, type ExpectedLimit, expectNotLimited } from './expect-limited.js';
export { countInMemory, type ModuleBuilder, switchLimitsOff } from './module-builder.js';
export { TestClock } from './test-clock.js';
