import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, run } from './run.ts';
import { ROOT } from './tarball.ts';

const PARTS = ['README.md', 'CHANGELOG.md', 'LICENSE', 'scripts', 'docs', 'lua', 'bench/chart.svg'];

/** A copy of what `npm pack` and `npm publish` need of the repository, with a build that is replaced. */
export class Clone {
  private constructor(readonly folder: string) {}

  /** @param fields replace fields of package.json */
  static async create(fields: object, build = 'mkdir dist'): Promise<Clone> {
    const folder = await mkdtemp(join(tmpdir(), 'freq-limit-clone-'));
    for (const part of PARTS) await cp(join(ROOT, part), join(folder, part), { recursive: true });
    const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const changed = { ...manifest, ...fields, scripts: { ...manifest.scripts, build } };
    await writeFile(join(folder, 'package.json'), `${JSON.stringify(changed, null, 2)}\n`);
    return new Clone(folder);
  }

  npm(...args: string[]): Promise<Ended> {
    return run('npm', args, { cwd: this.folder });
  }

  /** The files, without `dist`, and their texts. */
  async files(): Promise<Record<string, string>> {
    const entries = await readdir(this.folder, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => !path.startsWith(join(this.folder, 'dist')));
    const texts = paths.map(async (path) => [path, await readFile(path, 'utf8')] as const);
    return Object.fromEntries(await Promise.all(texts));
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}
