// A wire in its own process, so that it goes on when the process whose calls it carries is blocked.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { endWithParent } from '../support/typescript-process.js';
import { startWire } from './wire.js';

endWithParent();
const [target = 0, delayMs = 0] = process.argv.slice(2).map(Number);
const wire = await startWire(target);
wire.delayMs = delayMs;
const delays = monitorEventLoopDelay({ resolution: 5 });
delays.enable();
// how long the machine kept the server or this process from running, at most
process.on('message', () => process.send?.(Math.round(Math.max(delays.max / 1e6, wire.slowestMs))));
process.send?.(wire.port);
