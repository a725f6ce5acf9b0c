import { memorySubject } from '../support/subjects.js';
import { describeStore } from './store.contract.js';

describeStore(
  'memory',
  () => Promise.resolve(memorySubject()),
  () => Promise.resolve(),
);
