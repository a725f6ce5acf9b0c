import { memorySubject } from '../support/subjects.js';
import { timedMemory } from '../support/timed-subjects.js';
import { describeKinds } from './kinds.contract.js';
import { describeStore } from './store.contract.js';

describeStore(
  'memory',
  () => Promise.resolve(memorySubject()),
  () => Promise.resolve(),
);

describeKinds('memory', () => Promise.resolve(timedMemory()));
