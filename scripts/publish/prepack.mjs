// Before npm packs: puts the package.json and the pages that users get in the place of those of the repository.
// npm reads them again for the registry after it has packed; restore.mjs brings the originals back when npm has ended.
import { spawn } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publishedFiles } from './published-files.mjs';

const npm = Number(process.argv[2]);
if (!Number.isInteger(npm))
  throw new Error('Pack and publish on Linux or macOS: the scripts need the $PPID of a POSIX shell.');
process.chdir(fileURLToPath(new URL('../../', import.meta.url)));

const files = publishedFiles();
try {
  mkdirSync('.packing');
} catch {
  throw new Error(
    'The folder .packing exists: another npm is packing here. If not, check `git status` and delete the folder.',
  );
}
// outside of the process group of npm: Ctrl+C does not end it
const restore = fileURLToPath(new URL('restore.mjs', import.meta.url));
spawn(process.execPath, [restore, npm], { detached: true, stdio: 'ignore' }).unref();

for (const [path, text] of files) {
  mkdirSync(dirname(`.packing/${path}`), { recursive: true });
  linkSync(path, `.packing/${path}`);
  writeFileSync('dist/published', text);
  renameSync('dist/published', path);
}
