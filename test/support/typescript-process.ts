import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const LOADER = new URL('typescript.mjs', import.meta.url).href;

/** A process of a test's own, which runs a file of TypeScript with the majors of Nest and ioredis that the test runs with. */
export interface TypeScriptProcess {
  readonly process: ChildProcess;
  /** The next message that it sends. Fails where it ends without one. */
  heard(): Promise<unknown>;
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
  // what it has started ends with it, so it must run once more to say so
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
    heard: async () => {
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

/** To be called first in such a process: it ends with the one that has started it, and lets go of what it has started. */
export function endWithParent(): void {
  const end = (): void => process.exit(0);
  process.once('SIGTERM', end);
  process.once('disconnect', end);
}

function compat(): string {
  return process.env['TEST_COMPAT'] ?? (ioredisVersion().startsWith('5.') ? 'nest-11' : '');
}

/** The suites run with each major that is supported. */
export function ioredisVersion(): string {
  const { version } = createRequire(import.meta.url)('ioredis/package.json') as { version: string };
  return version;
}
