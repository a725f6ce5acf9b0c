import base from './jest.config.js';

/** The packed package in applications of its users. Needs `npm pack --pack-destination dist`. */
export default {
  ...base,
  displayName: 'pack',
  testMatch: ['<rootDir>/test/pack/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // these wait for nothing: they compile and start applications
  maxWorkers: '100%',
  testTimeout: 240_000,
};
