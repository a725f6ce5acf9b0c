// Drives a store into a standstill of this very process, and sends what came of it.
import { endWithParent } from '../support/typescript-process.js';
import { runFault } from './harness.js';
import { faultOf, STANDSTILLS } from './standstills.js';

endWithParent();
const [name, roundTripMs] = process.argv.slice(2);
const standstill = STANDSTILLS.find((one) => one.name === name);
if (standstill === undefined) throw new Error(`there is no standstill ${name}`);
process.send?.(await runFault(faultOf(standstill, Number(roundTripMs))));
