import { existsSync } from 'node:fs';
import { copyFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, run } from './run.ts';
import { ROOT, tarballPath } from './tarball.ts';

const STRICT_PEERS = ['--strict-peer-deps', '--legacy-peer-deps=false', '--force=false'];
const INSTALL = [
  'install',
  '--no-audit',
  '--no-fund',
  '--ignore-scripts',
  '--prefer-offline',
  ...STRICT_PEERS,
];

/**
 * A project of a user, outside of this repository: one of test/pack/consumers, with their shared files and the packed
 * tarball installed.
 */
export class Consumer {
  private constructor(
    readonly folder: string,
    /** The output of `npm install`. */
    readonly installed: Ended,
  ) {}

  static async install(name: string, ...shared: string[]): Promise<Consumer> {
    const folder = await mkdtemp(join(tmpdir(), `freq-limit-${name}-`));
    try {
      const consumers = join(ROOT, 'test/pack/consumers');
      for (const part of ['shared', ...shared, name])
        await cp(join(consumers, part), folder, { recursive: true });
      await copyFile(tarballPath(), join(folder, 'nestjs-freq-limit.tgz'));
      return new Consumer(folder, await run('npm', INSTALL, { cwd: folder, timeoutMs: 180_000 }));
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** The faults that npm finds in the installed tree: missing or unmet peers, wrong versions. */
  faults(): Promise<Ended> {
    return run('npm', ['ls', '--all', '--silent'], { cwd: this.folder });
  }

  compile(config: string): Promise<Ended> {
    return this.node(['node_modules/typescript/bin/tsc', '--pretty', 'false', '-p', config]);
  }

  /** Runs this Node in the project. */
  node(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return run(process.execPath, args, { cwd: this.folder, env });
  }

  /** Runs the tests of the project, in its own Jest or else in ours, and returns the line with their number. */
  async jest(env: NodeJS.ProcessEnv, ...flags: string[]): Promise<string> {
    const own = join(this.folder, 'node_modules/jest/bin/jest.js');
    const jest = existsSync(own) ? own : join(ROOT, 'node_modules/jest/bin/jest.js');
    const { code, stderr } = await this.node(
      [...flags, jest, '--rootDir', '.', '--runInBand', '--no-cache'],
      env,
    );
    const [count] = /^Tests: .*$/m.exec(stderr) ?? [];
    if (code !== 0 || count === undefined || /did not exit|warn/i.test(stderr)) return stderr;
    return count.replace(/ +/, ' ');
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
