import ioredis6 from './jest.config.js';
import ioredis5 from './jest.nest11.config.js';

/** Of a whole run, not of one of its projects. */
const OF_THE_RUN = ['testTimeout', 'collectCoverageFrom', 'coverageProvider', 'coverageThreshold'];

/** Servers broken on purpose, under both majors of ioredis. One after the other: waits are measured. */
export default {
  maxWorkers: 1,
  testTimeout: 60_000,
  projects: [project('ioredis 6', ioredis6), project('ioredis 5', ioredis5)],
};

function project(displayName, config) {
  const own = Object.entries(config).filter(([option]) => !OF_THE_RUN.includes(option));
  return {
    ...Object.fromEntries(own),
    displayName,
    testMatch: ['<rootDir>/test/fault/**/*.test.ts'],
    testPathIgnorePatterns: ['/node_modules/'],
  };
}
