import { existsSync } from 'node:fs';
import { copyFile, cp, mkdtemp, rename, rm } from 'node:fs/promises';
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

const NEST_NEW = [
  join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js'),
  ...['new', 'app', '--directory', '.', '--strict', '--skip-install', '--skip-git', '-p', 'npm'],
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

  static install(name: string, ...shared: string[]): Promise<Consumer> {
    return Consumer.create(name, (folder) => copyParts(folder, 'shared', ...shared, name));
  }

  /** A project that `nest new` of Nest 12 has made, with the files of test/pack/consumers/<name> instead of its own. */
  static installGenerated(name: string): Promise<Consumer> {
    return Consumer.create(name, async (folder) => {
      const { code, stderr } = await run(process.execPath, NEST_NEW, { cwd: folder });
      if (code !== 0) throw new Error(`nest new failed: ${stderr}`);
      await rename(join(folder, 'package.json'), join(folder, 'generated.json'));
      await copyParts(folder, name);
    });
  }

  private static async create(name: string, fill: (folder: string) => Promise<void>): Promise<Consumer> {
    const folder = await mkdtemp(join(tmpdir(), `freq-limit-${name}-`));
    try {
      await fill(folder);
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

  /** Runs the tests of the project in its Vitest, and returns the line with their number. */
  async vitest(env: NodeJS.ProcessEnv, config: string): Promise<string> {
    const { code, stdout, stderr } = await this.node(
      ['node_modules/vitest/vitest.mjs', 'run', '--config', config],
      env,
    );
    const [count] = /^ *Tests +.*$/m.exec(stdout) ?? [];
    if (code !== 0 || count === undefined || stdout.includes('close timed out')) return stdout + stderr;
    return count.trim().replace(/ +/, ' ');
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function copyParts(folder: string, ...parts: string[]): Promise<void> {
  for (const part of parts) await cp(join(ROOT, 'test/pack/consumers', part), folder, { recursive: true });
}
