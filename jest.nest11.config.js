import base from './jest.config.js';

/** The same suite on Nest 11 and ioredis 5. */
export default {
  ...base,
  displayName: 'nest-11',
  // These read sources, or compute and compare without Nest: all that is the same. What the store sends through ioredis 5 is in
  // test/contract/(redis-store|redis-kinds|cluster), the last with random histories.
  testPathIgnorePatterns: [
    ...base.testPathIgnorePatterns,
    '<rootDir>/test/unit/(plain-words|public-docs)\\.test\\.ts$',
    '<rootDir>/test/unit/(bench|core|store/(memory|layers))/',
    '<rootDir>/test/lua/',
    '<rootDir>/test/contract/(memory-store|differential|(coalescing|deny-cache)(-kinds)?)\\.test\\.ts$',
  ],
  moduleNameMapper: {
    ...base.moduleNameMapper,
    // of Nest's own packages the throttler alone has one version for both majors
    '^(@nestjs/(?!throttler(?:/|$))[^/]+|ioredis)(/.*)?$': '<rootDir>/compat/nest-11/node_modules/$1$2',
  },
};
