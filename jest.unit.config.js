import base from './jest.config.js';

/** The inner loop: the tests that need no Redis. */
export default {
  ...base,
  testMatch: ['<rootDir>/test/unit/**/*.test.ts', '<rootDir>/test/contract/memory-store.test.ts'],
  globalSetup: undefined,
  globalTeardown: undefined,
};
