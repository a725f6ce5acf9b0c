// Completes dist: marks dist/cjs as CommonJS, and gives both builds the declarations that users can reach.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const dist = new URL('../dist/', import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const reached = new Set();
for (const { import: esm } of Object.values(exports)) {
  if (esm !== undefined) reach(esm.types.replace('./dist/esm/', ''));
}
for (const file of reached) {
  for (const build of ['esm', 'cjs'])
    cpSync(new URL(`types/${file}`, dist), new URL(`${build}/${file}`, dist));
}
rmSync(new URL('types', dist), { recursive: true });

// the package is "type": "module"; this tells Node that dist/cjs is not
writeFileSync(new URL('cjs/package.json', dist), '{ "type": "commonjs" }\n');

function reach(file) {
  if (reached.has(file)) return;
  reached.add(file);
  const text = readFileSync(new URL(`types/${file}`, dist), 'utf8');
  for (const [, path] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.js['"]/g)) {
    reach(new URL(`${path}.d.ts`, `file:///${file}`).pathname.slice(1));
  }
}
