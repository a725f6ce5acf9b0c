import { framesOf, shortenStack } from '../../../src/core/stack-frames.js';

const FORGED =
  'x\n    at [Nest] 1  - LOG [Auth] admin logged in from 10.0.0.1\n[Nest] 2 - ERROR forged\n    at +8613800000000';

function thrower(message: string): Error {
  return new TypeError(message);
}

describe('the frames of an error', () => {
  it('are the places in code, and nothing of the message', () => {
    for (const message of ['short', '', FORGED, 'a: b', '\n'.repeat(2_000)]) {
      const lines = framesOf(thrower(message))!.split('\n');
      expect(lines[0]).toMatch(/^ {4}at thrower \(.*frames\.test\.ts:\d+:\d+\)$/);
      for (const line of lines) expect(line).toMatch(/^ {4}at .*:\d+:\d+\)?$/);
    }
  });

  it.each([
    ['was changed', (message: string) => `key: ${message}`],
    ['was shortened', (message: string) => message.slice(0, 1)],
    ['was taken away', () => ''],
    ['is not a string any more', () => 5 as unknown as string],
  ])('contain no line of a client if the message %s', (_, change) => {
    const error = thrower(FORGED);
    expect(error.stack).toContain('admin');
    error.message = change(error.message);
    expect(framesOf(error)).toMatch(/at thrower \(/);
    expect(framesOf(error)).not.toMatch(/admin|Nest\]|forged|138/);
  });

  it.each([
    '    at async Pipe.run (file:///app/dist/a.js:1:2)',
    '    at new Pipe (/app/dist/a.js:1:2)',
    '    at Object.<anonymous> (C:\\app\\a.js:1:2)',
    '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
    '    at file:///app/dist/a.js:1:2',
    '    at Pipe.a [as b] (webpack-internal:///app/a.js:1:2)',
  ])('include %s', (line) => {
    expect(framesOf({ message: 'a', stack: `Error: a\n${line}` })).toBe(line);
  });

  it.each([
    ['no stack', {}],
    ['a stack that is not a string', { stack: 5 }],
    ['a stack of other words', { stack: 'Error: a\n    at home' }],
    ['nothing', undefined],
  ])('are none of %s', (_, error) => {
    expect(framesOf(error)).toBeUndefined();
  });

  // the parts that a pattern could try again and again
  it.each([
    '\n',
    ' ',
    '    at ',
    '\n    at ',
    'a',
    '    at a (',
    ':1',
    '/',
    '\n    at /a:1:1',
    '(',
    'Error: ',
    'async ',
  ])('take no longer for a MiB of %p', (unit) => {
    const text = unit.repeat(2 ** 20 / unit.length);
    const errors = [text, `${text}x`].flatMap((message) => {
      const changed = thrower(message);
      expect(changed.stack).toContain('TypeError');
      changed.message = `key: ${message}`;
      return [thrower(message), changed, { message: 'a', stack: message }];
    });
    const startMs = performance.now();
    for (let i = 0; i < 20; i++) for (const error of errors) framesOf(error);
    expect(performance.now() - startMs).toBeLessThan(2_000);
    for (const error of errors) expect((framesOf(error) ?? '').length).toBeLessThan(8_193);
  });
});

describe('shortenStack', () => {
  /** Calls a function as a library does. */
  const library = (call: () => void): void => {
    [0].forEach(call);
  };

  it('leaves the frames of the application, above the function that was called', () => {
    const error = new Error('two\nlines');
    const entry = (): void => {
      shortenStack(error, entry);
    };
    library(entry);
    const lines = error.stack!.split('\n');
    expect(lines.slice(0, 2)).toEqual(['Error: two', 'lines']);
    expect(lines.slice(2).join()).toContain('stack-frames.test.ts');
    expect(lines.slice(2).join()).not.toMatch(/entry|node_modules|node:/);
  });

  it('leaves one frame if there are only those of libraries', async () => {
    const error = new Error('wrong');
    await new Promise<void>((resolve) => {
      const entry = (): void => {
        shortenStack(error, entry);
        resolve();
      };
      setImmediate(entry);
    });
    expect(error.stack!.split('\n')).toEqual(['Error: wrong', expect.stringMatching(/^ {4}at .*node:/)]);
  });

  it('does not change how long other stacks are', () => {
    const { stackTraceLimit } = Error;
    shortenStack(new Error('wrong'), () => undefined);
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  });
});
