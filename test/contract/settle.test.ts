import { timedMemory, timedRedis } from '../support/timed-subjects.js';
import { describeSettlements } from './settle.contract.js';

describeSettlements('memory', () => Promise.resolve(timedMemory()));
describeSettlements('Redis', () => timedRedis());
