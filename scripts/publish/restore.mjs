// Brings the originals back that prepack.mjs has put away: at once, or when the process of this number has ended.
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('../../', import.meta.url)));
const { npm_lifecycle_event: event, npm_command: command } = process.env;
// after this script, npm publish reads package.json once more, for the registry, and runs no other script of ours
const isInUse = event === 'postpack' && ['publish', 'stage'].includes(command);

const npm = process.argv[2];
while (npm !== undefined && existsSync('.packing') && isRunning(Number(npm))) await sleep(20);
if (!isInUse && existsSync('.packing')) restore();

function restore() {
  for (const entry of readdirSync('.packing', { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const original = `${entry.parentPath}/${entry.name}`;
    renameSync(original, original.slice('.packing/'.length));
  }
  rmSync('.packing', { recursive: true });
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
