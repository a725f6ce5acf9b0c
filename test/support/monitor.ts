import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** A command that a server got. */
export interface SeenCommand {
  /** Its name and arguments. */
  readonly args: string[];
  /** Whether a script sent it. */
  readonly isFromScript: boolean;
}

/**
 * Calls a function for each command that a server gets from now on. Returns a function that stops this. Not by ioredis: it
 * fails if a line comes in one packet with the reply to MONITOR.
 */
export async function watchCommands(
  url: string,
  onCommand: (command: SeenCommand) => void,
): Promise<() => void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = createInterface({ input: socket });
  lines.on('line', (line) => {
    const [, source, words] = /^\+[\d.]+ \[\d+ ([^\]]+)\] (.*)$/.exec(line) ?? [];
    if (source !== undefined && words !== undefined)
      onCommand({ args: wordsIn(words), isFromScript: source === 'lua' });
  });
  const started = once(lines, 'line');
  socket.write('MONITOR\r\n');
  await started;
  return () => {
    socket.destroy();
  };
}

function wordsIn(text: string): string[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!.replace(/\\(["\\])/g, '$1'));
}
