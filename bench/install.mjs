// Installs the packages of the benchmark, and a copy of the built library next to them, so that both use one @nestjs/common.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const wanted = here('package-lock.json');
const installed = here('node_modules/.package-lock.json');
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(wanted).mtimeMs) {
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel', 'error'], {
    cwd: here('.'),
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(1);
}

const { against } = readOptions();
install('nestjs-freq-limit', here('..'));
if (against !== undefined) install('nestjs-freq-limit-before', against);

function install(name, from) {
  if (!existsSync(`${from}/dist/esm`)) {
    console.error(`${from} has no dist/esm: build it first (npm run build)`);
    process.exit(1);
  }
  const copy = here(`node_modules/${name}`);
  const { dependencies } = JSON.parse(readFileSync(`${from}/package.json`, 'utf8'));
  rmSync(copy, { recursive: true, force: true });
  for (const part of ['package.json', 'dist/esm', 'dist/cjs']) {
    cpSync(`${from}/${part}`, `${copy}/${part}`, { recursive: true });
  }
  for (const dependency of Object.keys(dependencies)) {
    cpSync(here(`../node_modules/${dependency}`), `${copy}/node_modules/${dependency}`, {
      recursive: true,
      dereference: true,
    });
  }
}
