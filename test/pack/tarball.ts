import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The tarball that `npm run test:pack` packs once, before the tests. */
export function tarballPath(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const path = join(ROOT, `dist/nestjs-freq-limit-${version}.tgz`);
  if (!existsSync(path)) throw new Error('No tarball: run "npm pack --pack-destination dist" first.');
  return path;
}

/** The content of a tarball. */
export class Unpacked {
  private constructor(
    readonly folder: string,
    /** All paths, `package/` left out. */
    readonly files: readonly string[],
  ) {}

  static async from(tarball: string): Promise<Unpacked> {
    const parent = await mkdtemp(join(tmpdir(), 'freq-limit-tarball-'));
    const { code, stderr } = await run('tar', ['-xzf', tarball, '-C', parent], { cwd: parent });
    if (code !== 0) throw new Error(`tar failed: ${stderr}`);
    const folder = join(parent, 'package');
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return new Unpacked(
      folder,
      files.map(({ parentPath, name }) => relative(folder, join(parentPath, name))),
    );
  }

  remove(): Promise<void> {
    return rm(join(this.folder, '..'), { recursive: true, force: true });
  }
}
