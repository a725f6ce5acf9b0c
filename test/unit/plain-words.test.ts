import { readdirSync, readFileSync } from 'node:fs';
import { hardWordsIn } from '../support/plain-words.js';

const ROOTS = ['src', 'lua', 'docs', 'examples', 'bench', 'test'];
const PAGES = ['README.md', 'CONTRIBUTING.md'];
const READ = /(?<!\.generated)\.(?:ts|lua|md)$/;

/** Words that are right: in a whole file, or in lines that contain `line`. */
interface Exception {
  readonly file: string;
  readonly line?: string;
  readonly why: string;
}

const EXCEPTIONS: readonly Exception[] = [
  { file: 'test/support/plain-words.ts', why: 'the list of hard words' },
  { file: 'test/unit/plain-words.test.ts', why: 'examples of hard words' },
];

function files(): string[] {
  const found = ROOTS.flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => `${root}/${name}`),
  );
  const own = found.filter((file) => READ.test(file) && !/\/(?:node_modules|dist)\//.test(file));
  return [...own, ...PAGES].sort();
}

function hardWordsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  return hardWordsIn(text)
    .filter(
      ({ line }) => !EXCEPTIONS.some((one) => one.file === file && lines[line - 1]?.includes(one.line ?? '')),
    )
    .sort((a, b) => a.line - b.line)
    .map(({ line, word, instead }) => `${file}:${line}: "${word}", write instead: ${instead}`);
}

describe('sources and pages', () => {
  it('have no words that are hard to read', () => {
    expect(files().flatMap(hardWordsOf)).toEqual([]);
  });

  it('have every exception that is listed', () => {
    const unused = EXCEPTIONS.filter(({ file, line = '' }) => !readFileSync(file, 'utf8').includes(line));
    expect(unused).toEqual([]);
  });
});

describe('hardWordsIn', () => {
  it.each([
    ['The client whom it denies', ['whom']],
    ['const visitOf = 1', ['visit']],
    ['/**\n * it is\n * no key\n */', ['is no']],
    ['It answers so, and then', ['so']],
    ['What is missing is skipped.', ['What is']],
    ['a server behind the same proxy, and a guard behind it', ['behind']],
    ['There is no rule, so it is no longer called. What is a rule?', []],
    ['If so, it says so; so that it fits', []],
  ])('finds in %j %j', (text, words) => {
    expect(hardWordsIn(text).map(({ word }) => word)).toEqual(words);
  });

  it('names the line', () => {
    expect(hardWordsIn('one\ntwo\n// nobody\n')).toMatchObject([{ line: 3, word: 'nobody' }]);
  });
});
