import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ENTRIES } from '../../src/rules/plan-rule.ts';
import {
  type EditedFile,
  type Editor,
  type Mistake,
  openInLanguageServer,
  openInLanguageService,
} from '../support/editors.ts';
import { ROOT } from './tarball.ts';

const require = createRequire(import.meta.url);

/** The lowest TypeScript that can read our declarations, the one of this repository, and the native one. */
const EDITORS: [version: string, open: (file: EditedFile) => Editor | Promise<Editor>][] = [
  ['5.0', (file) => openInLanguageService(require('typescript-5'), file)],
  ['6.0', (file) => openInLanguageService(require('typescript'), file)],
  [
    '7.0',
    (file) => openInLanguageServer(join(require.resolve('typescript-7/package.json'), '../bin/tsc'), file),
  ],
];

const OPTIONS = Object.keys(ENTRIES);
const without = (name: string): string[] => OPTIONS.filter((option) => option !== name);

/** Code with the cursor at `|`, and all that is offered there. */
const COMPLETED: [code: string, offered: readonly string[]][] = [
  ['@FreqLimit({ | })', OPTIONS],
  ["@FreqLimit({ window: '1m', | })", without('window')],
  ["@FreqLimit('login', { | })", without('name')],
  ["@FreqLimit({ window: '1m', limit: 5, onStoreError: '|' })", ['memory', 'allow', 'deny']],
  ["@FreqLimit({ window: '1m', limit: 5, countWhen: '|' })", ['request', 'success', 'failure']],
  [
    "@FreqLimit({ window: '1m', limit: 5, algorithm: '|' })",
    ['fixed-window', 'sliding-window', 'token-bucket'],
  ],
  ['@FreqLimit(defineRule({ | }))', OPTIONS],
  ["@FreqLimit(defineRule({ window: '1m', | }))", without('window')],
  ['@use(FreqLimitModule.forRoot({ rules: [{ | }] }))', OPTIONS],
  ['@use(FreqLimitModule.forRoot({ namedRules: { login: { | } } }))', without('name')],
];

/** Code with the cursor at `|`, and some of what is offered there. */
const ALSO_COMPLETED: [code: string, offered: readonly string[]][] = [
  ['@use(FreqLimitModule.forRoot({ | }))', ['redis', 'rules', 'timeoutMs', 'globalGuard']],
  ['@use(FreqLimitModule.forRootAsync({ useFactory: () => ({ | }) }))', ['redis', 'rules', 'timeoutMs']],
  ['@use(FreqLimitModule.forRoot({ redis: { | } }))', ['host', 'port', 'cluster']],
  ['@use(limits.consume({ | }))', ['key', 'window', 'limit', 'rule']],
  ["@FreqLimit({ window: '1m', limit: 5, key: (context) => context.| })", ['getClass', 'switchToHttp']],
  ["@FreqLimit({ window: '1m', limit: 5, normalize: (value) => value.| })", ['slice', 'toLowerCase']],
  ["@FreqLimit('1m', (context) => context.|)", ['getClass', 'switchToHttp']],
  ['@FreqLimit({ window: { | }, limit: 5 })', ['calendar', 'timeZone', 'startsAt']],
  ["@FreqLimit({ window: { calendar: '|' }, limit: 5 })", ['minute', 'week', 'month', 'year']],
  ["@FreqLimit({ calendar: 'month', | }, 5)", ['timeZone', 'startsAt']],
  ["@use(limits.consume({ key: 1, window: '1m', algorithm: '|' }))", ['sliding-window', 'token-bucket']],
];

/** Code with a mistake: what is underlined, and a part of the message. */
const MISTAKES: [code: string, underlined: string, message: string][] = [
  ["@FreqLimit({ window: '1m', limit: '5' })", 'limit', "Type 'string' is not assignable to type 'number"],
  ["@FreqLimit({ windw: '1m', limit: 5 })", 'windw', "Did you mean to write 'window'?"],
  ["@FreqLimit({ window: '1m' })", "{ window: '1m' }", "Property 'limit' is missing"],
  ['@FreqLimit({ limit: 5 })', '{ limit: 5 }', "Property 'window' is missing"],
  [
    "@FreqLimit({ window: '1m', limit: 5, onStoreError: 'open' })",
    'onStoreError',
    "Type '\"open\"' is not assignable to type 'OnStoreError",
  ],
  ["@FreqLimit({ window: '1 minute', limit: 5 })", 'window', 'Type \'"1 minute"\' is not assignable to type'],
  ["@FreqLimit({ window: '1m', limit: 5, shadow: 'true' })", 'shadow', "Type 'string' is not assignable"],
  ["@FreqLimit({ window: '1m', limit: () => '5' })", 'limit', "Type '() => string' is not assignable"],
  ['@FreqLimit({ default: { limit: 5 } })', 'default', "'default' does not exist in type 'AnyRule'"],
  ['@FreqLimit(variable)', 'variable', "Types of property 'window' are incompatible"],
  ['@FreqLimit({})', '{}', "'{}' is not assignable to parameter of type 'AnyRule'"],
  ['@FreqLimit([{ limit: 5 }])', '[{ limit: 5 }]', "is not assignable to parameter of type 'AnyRule'"],
  [
    "@FreqLimit({ window: '1m', limit: 5, burst: 9 })",
    "{ window: '1m', limit: 5, burst: 9 }",
    "Property 'algorithm' is missing in type '{ window: \"1m\"; limit: number; burst: number; }' but required in type 'TokenBucketRule'",
  ],
  [
    "@FreqLimit({ window: '1m', limit: 5, algorithm: 'sliding' })",
    'algorithm',
    'Type \'"sliding"\' is not assignable to type',
  ],
  [
    "@FreqLimit({ window: { calendar: 'month' }, limit: 5, algorithm: 'sliding-window' })",
    "{ window: { calendar: 'month' }, limit: 5, algorithm: 'sliding-window' }",
    // the reason that follows is the algorithm or the window, by the version
    'is not assignable to parameter of type',
  ],
  [
    "@FreqLimit({ window: '1m', limit: 5, algoritm: 'sliding-window' })",
    'algoritm',
    "Did you mean to write 'algorithm'?",
  ],
  [
    "@FreqLimit({ window: '1m', limit: 5, blockFor: '1 hour' })",
    'blockFor',
    'Type \'"1 hour"\' is not assignable to type',
  ],
  [
    "@FreqLimit('1m', '5')",
    "'5'",
    "'string' is not assignable to parameter of type 'number | FromContext<number>'",
  ],
  ["@FreqLimit('1m', { limit: 5 })", '', "'limit' does not exist in type 'FromContext<number>'"],
  ["@FreqLimit('1m', 5, 7)", '7', "'7' is not assignable to parameter of type 'KeySpec | undefined'"],
  [
    "@FreqLimit(defineRule({ window: '1m', limit: 5, shadw: true }))",
    'shadw',
    "Did you mean to write 'shadow'?",
  ],
  [
    "@FreqLimit(defineRule({ window: process.env['W'], limit: 5 }))",
    "{ window: process.env['W'], limit: 5 }",
    "Type 'string | undefined' is not assignable",
  ],
  ["@use(FreqLimitModule.forRoot({ timeoutMs: '250' }))", 'timeoutMs', "Type 'string' is not assignable"],
  ['@use(limits.consume({ key: 1, windw: 1 }))', 'windw', "'windw' does not exist in type"],
];

/** Calls of several overloads: what is underlined is the compiler's choice. */
const MISTAKES_IN_OVERLOADS: [code: string, message: string][] = [
  ["@FreqLimit('1m')", '"after a window comes its limit, a number or a function"'],
  ["@FreqLimit('login', { limt: 3 })", "Did you mean to write 'limit'?"],
];

const HOVERED: [code: string, text: string][] = [
  ["@|FreqLimit({ window: '1m', limit: 5 })", "countWhen: 'failure' })`. Several of these decorators"],
  ["@|FreqLimit('login')", "Applies a rule of the module's `namedRules`"],
  ["@|FreqLimit('1m', 5)", 'length of the window'],
  ["@|FreqLimit('login', { limit: 3 })", 'with changes'],
  ['@FreqLimit(|defineRule({ window: process.env["W"] ?? 60, limit: "5" }))', 'Checks a rule at once'],
];

const HEAD = `import { defineRule, FreqLimit, FreqLimitModule, type FreqLimitService } from 'nestjs-freq-limit';
declare const variable: { window: string; limit: number };
declare const process: { env: Record<string, string | undefined> };
declare const limits: FreqLimitService;
declare function use(value: unknown): MethodDecorator;
class Controller {
`;
const CODES = [...COMPLETED, ...ALSO_COMPLETED, ...MISTAKES, ...MISTAKES_IN_OVERLOADS, ...HOVERED].map(
  ([code]) => code,
);
/** Each code decorates a method, on a line of its own. */
const lineOf = (code: string, i: number): string => `  ${code} m${i}() {}\n`;
const TEXT = `${HEAD}${CODES.map((code, i) => lineOf(code.replace('|', ''), i)).join('')}}\n`;
const FIRST_LINE = HEAD.split('\n').length - 1;

function cursorOf(code: string): number {
  const i = CODES.indexOf(code);
  const before = TEXT.split('\n').slice(0, FIRST_LINE + i);
  return before.join('\n').length + 1 + lineOf(code, i).indexOf('|');
}

/** A project of a user, with the built package. */
async function makeProject(): Promise<EditedFile> {
  const folder = await mkdtemp(join(tmpdir(), 'freq-limit-editors-'));
  const compilerOptions = {
    target: 'ES2022',
    lib: ['ES2023'],
    module: 'ES2022',
    moduleResolution: 'Bundler',
    experimentalDecorators: true,
    strict: true,
    types: [],
  };
  await mkdir(join(folder, 'node_modules'));
  await symlink(ROOT, join(folder, 'node_modules/nestjs-freq-limit'), 'dir');
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }));
  await writeFile(join(folder, 'app.ts'), TEXT);
  return { folder, name: 'app.ts', text: TEXT };
}

describe('an editor', () => {
  let file: EditedFile;

  beforeAll(async () => {
    file = await makeProject();
  });
  afterAll(() => rm(file.folder, { recursive: true, force: true }));

  describe.each(EDITORS)('with TypeScript %s', (_, open) => {
    let editor: Editor;
    let mistakes: readonly Mistake[];

    beforeAll(async () => {
      editor = await open(file);
      mistakes = await editor.mistakes();
    });
    afterAll(() => editor.close());

    const mistakesIn = (code: string): readonly Mistake[] =>
      mistakes.filter(({ line }) => line === FIRST_LINE + CODES.indexOf(code));

    it.each(COMPLETED)('completes %s', async (code, offered) => {
      expect([...(await editor.completions(cursorOf(code)))].sort()).toEqual([...offered].sort());
    });

    it.each(ALSO_COMPLETED)('completes, among others, %s', async (code, offered) => {
      expect(await editor.completions(cursorOf(code))).toEqual(expect.arrayContaining([...offered]));
    });

    it.each(MISTAKES)('underlines the mistake in %s', (code, underlined, message) => {
      const [mistake, ...others] = mistakesIn(code);
      expect(mistake?.message).toContain(message);
      expect(mistake?.message).not.toMatch(/overload|parameter of type 'string'/);
      // some versions underline the value too
      expect(mistake?.underlined.slice(0, underlined.length)).toBe(underlined);
      expect(others).toEqual([]);
    });

    it.each(MISTAKES_IN_OVERLOADS)('explains the mistake in %s', (code, message) => {
      expect(mistakesIn(code).map((mistake) => mistake.message)).toEqual([expect.stringContaining(message)]);
    });

    it.each(HOVERED)('shows the text of the overload over %s', async (code, text) => {
      const hovered = await editor.hover(cursorOf(code));
      expect(hovered.text).toContain(text);
      expect(hovered.tags.filter((tag) => !['param', 'throws'].includes(tag))).toEqual([]);
      expect(mistakesIn(code)).toEqual([]);
    });
  });
});
