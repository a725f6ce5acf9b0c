import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** A block of code of a page, fenced with ```ts file=examples/…: the part of a file that the tests run. */
interface Shown {
  readonly page: string;
  readonly line: number;
  readonly info: string;
  readonly text: string;
}

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const PAGES = [
  'README.md',
  ...readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];
const FILE = /^ts file=(examples\/[\w/.-]+\.ts)$/;

function shownIn(page: string): Shown[] {
  const blocks = read(page).matchAll(/^(`{3,})([^\n`]*)\n(.*?)^\1 *$/gms);
  return [...blocks].map(({ index, input, 2: info, 3: text }) => {
    return { page, line: input.slice(0, index).split('\n').length, info: info!.trim(), text: text! };
  });
}

const shown = PAGES.flatMap(shownIn).filter(({ info }) => info.includes('file'));

describe('code in the documents', () => {
  it('is found', () => {
    expect(shown.length).toBeGreaterThan(5);
  });

  it.each(shown.map((block) => [`${block.page}:${block.line}`, block] as const))(
    'is a part of the file it names: %s',
    (_, { info, text }) => {
      expect(info).toMatch(FILE);
      const [, file = ''] = FILE.exec(info) ?? [];
      expect(text.trim()).not.toBe('');
      // whole lines: no cut-off end can change what the code says
      expect(`\n${read(file)}`.includes(`\n${text}`) ? 'found' : text).toBe('found');
    },
  );
});
