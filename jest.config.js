import { availableParallelism } from 'node:os';

const swc = {
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/pack/', '<rootDir>/test/fault/'],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^nestjs-freq-limit$': '<rootDir>/src/index.ts',
    '^nestjs-freq-limit/(testing|throttler)$': '<rootDir>/src/$1/index.ts',
    '^@nestjs/throttler$': '<rootDir>/test/support/throttler.ts',
    // what mercurius requires for a page that no test opens is an ES module, which Jest requires only on Node 24.9+
    '^content-disposition$': '<rootDir>/node_modules/content-disposition',
  },
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  setupFiles: ['<rootDir>/test/support/without-redis-url.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // one more than there are cores, because many tests wait for most of their time
  maxWorkers: availableParallelism() + 1,
  testTimeout: 20_000,
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.generated.ts', '!src/**/index.ts'],
  coverageProvider: 'v8',
  coverageThreshold: { global: { statements: 90, branches: 85, functions: 90, lines: 90 } },
};
