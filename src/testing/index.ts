export type { Answer, SendRequest } from './answer.js';
export { expectLimited, type ExpectedLimit, expectNotLimited } from './expect-limited.js';
export { useMemoryStore, type ModuleBuilder, disableLimits } from './module-builder.js';
export { TestClock } from './test-clock.js';
