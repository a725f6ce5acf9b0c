import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const LOADER = new URL('typescript.mjs', import.meta.url).href;

/** A process that runs a TypeScript file with the same majors of Nest and ioredis as the test. */
export interface TypeScriptProcess {
  readonly process: ChildProcess;
  /** The next message from it. Fails if it ends without one. */
  nextMessage(): Promise<unknown>;
  stop(): Promise<void>;
}

export function startTypeScript(
  file: URL,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): TypeScriptProcess {
  const child = fork(fileURLToPath(file), args, {
    execArgv: ['--import', LOADER],
    env: { ...process.env, ...env, TEST_COMPAT: compat() },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2_000)));
  // it must run once more to stop the processes that it has started
  const end = (): void => {
    child.kill('SIGTERM');
    child.kill('SIGCONT');
  };
  process.once('exit', end);
  const messages: unknown[] = [];
  let wake = (): void => undefined;
  child.on('message', (message) => {
    messages.push(message);
    wake();
  });
  const closed = once(child, 'close').then(() => {
    process.removeListener('exit', end);
    wake();
  });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    process: child,
    nextMessage: async () => {
      while (messages.length === 0) {
        if (hasEnded()) {
          await closed;
          throw new Error(`${file.pathname} has ended without an answer: ${errors}`);
        }
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return messages.shift();
    },
    stop: async () => {
      if (!hasEnded()) end();
      await closed;
    },
  };
}

/** Call it first in such a process: it ends with its parent, and stops the processes that it has started. */
export function endWithParent(): void {
  const end = (): void => process.exit(0);
  process.once('SIGTERM', end);
  process.once('disconnect', end);
}

function compat(): string {
  return process.env['TEST_COMPAT'] ?? (ioredisVersion().startsWith('5.') ? 'nest-11' : '');
}

/** The suites run with each supported major. */
export function ioredisVersion(): string {
  const { version } = createRequire(import.meta.url)('ioredis/package.json') as { version: string };
  return version;
}
