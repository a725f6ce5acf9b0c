import { memorySubject } from '../support/subjects.js';
import { timedMemory } from '../support/timed-subjects.js';
import { describeBlocks } from './blocks.contract.js';
import { describeKinds } from './kinds.contract.js';
import { describeLeases } from './leases.contract.js';
import { describePromises } from './promises.contract.js';
import { describeStore } from './store.contract.js';
import { describeWaits } from './waits.contract.js';

describeStore(
  'memory',
  () => Promise.resolve(memorySubject()),
  () => Promise.resolve(),
);

describeKinds('memory', () => Promise.resolve(timedMemory()));
describeLeases('memory', () => Promise.resolve(timedMemory()));
describeBlocks('memory', () => Promise.resolve(timedMemory()));
describeWaits('memory', () => Promise.resolve(timedMemory()));
describePromises('memory', () => Promise.resolve(timedMemory()));
