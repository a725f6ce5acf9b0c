import { suite } from './jest.fault.config.js';

/** Applications that a flood keeps busy. One at a time, since each takes the whole machine. */
export default suite('<rootDir>/test/fault/flood.test.ts', 1);
