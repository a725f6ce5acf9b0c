import ioredis6 from './jest.config.js';
import ioredis5 from './jest.nest11.config.js';

/** Of a whole run, not of one of its projects. */
const OF_THE_RUN = [
  'maxWorkers',
  'testTimeout',
  'collectCoverageFrom',
  'coverageProvider',
  'coverageThreshold',
];

/** Servers broken on purpose. Two files at a time: they wait for most of their time. */
export default suite('<rootDir>/test/fault/!(flood).test.ts', 2);

/** Tests under both majors of ioredis. */
export function suite(tests, maxWorkers) {
  return {
    maxWorkers,
    maxConcurrency: 2,
    testTimeout: 60_000,
    projects: [project('ioredis 6', ioredis6, tests), project('ioredis 5', ioredis5, tests)],
  };
}

function project(displayName, config, tests) {
  const own = Object.entries(config).filter(([option]) => !OF_THE_RUN.includes(option));
  return {
    ...Object.fromEntries(own),
    displayName,
    testMatch: [tests],
    testPathIgnorePatterns: ['/node_modules/'],
  };
}
