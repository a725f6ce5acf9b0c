import { spawn } from 'node:child_process';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Variables of npm, Jest and Node that apply to this repository, not to the consumers. */
const OURS =
  /^(npm_(command|lifecycle|package|config_(local_prefix|workspace))|JEST_|NODE_(ENV|OPTIONS|PATH|V8_COVERAGE)$|FORCE_COLOR$)/;

/** Runs a program until it ends. It is killed after a time limit, and then its code is null. */
export function run(
  program: string,
  args: readonly string[],
  { cwd, env = {}, timeoutMs = 60_000 }: { cwd: string; env?: NodeJS.ProcessEnv; timeoutMs?: number },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const inherited = Object.entries(process.env).filter(([name]) => !OURS.test(name));
    const child = spawn(program, args, {
      cwd,
      env: { ...Object.fromEntries(inherited), NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const killWithUs = (): void => void child.kill('SIGKILL');
    process.once('exit', killWithUs);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.once('error', reject);
    child.once('close', (code) => {
      process.removeListener('exit', killWithUs);
      resolve({ code, stdout, stderr });
    });
  });
}
