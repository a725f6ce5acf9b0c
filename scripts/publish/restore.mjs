// After npm has packed: brings the originals back that prepack.mjs has put away.
import { cpSync, existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('../../', import.meta.url)));
if (existsSync('.packing')) {
  cpSync('.packing', '.', { recursive: true });
  rmSync('.packing', { recursive: true });
}
