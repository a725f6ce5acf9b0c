import ioredis6 from './jest.config.js';
import ioredis5 from './jest.nest11.config.js';

const faults = {
  testMatch: ['<rootDir>/test/fault/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};

/** Servers broken on purpose, under both majors of ioredis. One after the other: waits are measured. */
export default {
  maxWorkers: 1,
  testTimeout: 60_000,
  projects: [
    { ...project(ioredis6), ...faults, displayName: 'ioredis 6' },
    { ...project(ioredis5), ...faults, displayName: 'ioredis 5' },
  ],
};

/** What belongs to the run as a whole stands above. */
function project({ testTimeout, collectCoverageFrom, coverageProvider, coverageThreshold, ...rest }) {
  return rest;
}
