// A wire in its own process, so that it goes on when the process whose calls it carries is blocked.
import { endWithParent } from '../support/typescript-process.js';
import { startWire } from './wire.js';

endWithParent();
const [target = 0, delayMs = 0] = process.argv.slice(2).map(Number);
const wire = await startWire(target);
wire.delayMs = delayMs;
process.send?.(wire.port);
