// Takes a store through a standstill of this process, and sends the outcome.
import { endWithParent } from '../support/typescript-process.js';
import { runStandstill, STANDSTILLS } from './standstills.js';

endWithParent();
const [name, roundTripMs] = process.argv.slice(2);
const standstill = STANDSTILLS.find((one) => one.name === name);
if (standstill === undefined) throw new Error(`there is no standstill ${name}`);
process.send?.(await runStandstill(standstill, Number(roundTripMs)));
