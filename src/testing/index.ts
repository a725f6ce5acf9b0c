export { expectLimited, type ExpectedLimit, expectNotLimited } from './expect-limited.js';
export { disableLimits, type ModuleBuilder, useMemoryStore } from './module-builder.js';
export type { SendRequest, TestResponse } from './send-request.js';
export { TestClock } from './test-clock.js';
