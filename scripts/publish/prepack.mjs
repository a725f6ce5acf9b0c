// Before npm packs: puts the package.json and the pages that users get in the place of those of the repository.
// restore.mjs brings the originals back afterwards.
import { cpSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { publishedFiles } from './published-files.mjs';

process.chdir(fileURLToPath(new URL('../../', import.meta.url)));
const files = publishedFiles();
for (const [path] of files) cpSync(path, `.packing/${path}`);
for (const [path, text] of files) writeFileSync(path, text);
