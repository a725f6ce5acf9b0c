import base from './jest.config.js';

/** The same suite on Nest 11 and ioredis 5. */
export default {
  ...base,
  displayName: 'nest-11',
  // these read sources, or compare scripts and calculations without Nest and the store: all that is the same
  testPathIgnorePatterns: [
    ...base.testPathIgnorePatterns,
    '<rootDir>/test/unit/(plain-words|public-docs)\\.test\\.ts$',
    '<rootDir>/test/unit/core/',
    '<rootDir>/test/lua/consume-mixed-differential\\.test\\.ts$',
  ],
  moduleNameMapper: {
    ...base.moduleNameMapper,
    // of Nest's own packages the throttler alone has one version for both majors
    '^(@nestjs/(?!throttler(?:/|$))[^/]+|ioredis)(/.*)?$': '<rootDir>/compat/nest-11/node_modules/$1$2',
  },
};
