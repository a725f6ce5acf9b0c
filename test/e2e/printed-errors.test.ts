import { once } from 'node:events';
import { startTypeScript } from '../support/typescript-process.js';

const PROCESS = new URL('printed-errors-process.ts', import.meta.url);

const OF_RULE =
  'FreqLimitError: @FreqLimit on Sms.send: window: "1 year" is not a window; for a year of the calendar write ' +
  "{ calendar: 'year' }";
const OF_OPTION =
  "FreqLimitError: FreqLimitModule: headers: \"yes\" is not one of 'draft', 'draft-12', 'draft-11', 'legacy', 'both', " +
  "'retry-after', 'none'";

/** What a process prints to stderr, where `at` is a place in the application, and its exit code. */
async function printedBy(mistake: string, way: string): Promise<[text: string, code: number]> {
  const run = startTypeScript(PROCESS, [mistake, way], { NO_COLOR: '1', NODE_DEBUG: '' });
  let text = '';
  run.process.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  try {
    const [code] = (await once(run.process, 'close')) as [number];
    const shown = text
      // Node's own lines around an error that was not caught
      .replace(/^.*\n.*\n *\^\n\n/, '')
      .replace(/\n\nNode\.js v\S+\n$/, '\n')
      .replaceAll(/\(\S*printed-errors-process\.ts:\d+:\d+\)/g, '(app)');
    return [shown, code];
  } finally {
    await run.stop();
  }
}

const BOOTSTRAP = '    at async bootstrap (app)';

describe('a failed start', () => {
  it.each([
    ['a rule', 'default', 1, [OF_RULE, `${BOOTSTRAP} {`, "  code: 'FREQ_LIMIT_INVALID_RULE'", '}', '']],
    [
      'an option',
      'default',
      1,
      [OF_OPTION, `${BOOTSTRAP} {`, "  code: 'FREQ_LIMIT_INVALID_OPTIONS'", '}', ''],
    ],
    [
      'an option',
      'abortOnError: false',
      1,
      [OF_OPTION, `${BOOTSTRAP} {`, "  code: 'FREQ_LIMIT_INVALID_OPTIONS'", '}', ''],
    ],
    [
      'an option',
      'console.error',
      0,
      [OF_OPTION, `${BOOTSTRAP} {`, "  code: 'FREQ_LIMIT_INVALID_OPTIONS'", '}', ''],
    ],
  ])(
    'prints the error of %s once, with its code and a place in the application: %s',
    async (mistake, way, code, lines) => {
      expect(await printedBy(mistake, way)).toEqual([lines.join('\n'), code]);
    },
  );

  it('prints the cause, if there is one', async () => {
    const [text] = await printedBy('a getter', 'default');
    expect(text.split('\n').slice(0, 5)).toEqual([
      'FreqLimitError: FreqLimitModule: redis: host: cannot be read: no vault',
      `${BOOTSTRAP} {`,
      "  code: 'FREQ_LIMIT_INVALID_OPTIONS',",
      '  [cause]: TypeError: no vault',
      expect.stringMatching(/^ {6}at .*\(app\)$/),
    ]);
  });
});
