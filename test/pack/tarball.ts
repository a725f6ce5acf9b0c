import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface Tarball {
  readonly path: string;
  /** The paths in it, `package/` left out: they are the same in the repository. */
  readonly files: readonly string[];
}

/** Packs the files that `npm publish` would upload. Needs a build. */
export async function pack(folder: string): Promise<Tarball> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { code, stdout, stderr } = await run('npm', args, { cwd: ROOT });
  if (code !== 0) throw new Error(`npm pack failed: ${stderr}`);
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  return { path: join(folder, packed!.filename), files: packed!.files.map(({ path }) => path) };
}
