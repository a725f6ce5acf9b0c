import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

const ROOT = new URL('../../', import.meta.url);

/** A fenced block of a page. */
interface Block {
  readonly page: string;
  readonly line: number;
  readonly info: string;
  readonly text: string;
}

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const exists = (path: string): boolean => existsSync(new URL(path, ROOT));
const filesIn = (folder: string, end: string): string[] =>
  readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(end))
    .map((file) => `${folder}/${file}`);

const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'lua/README.md', ...filesIn('docs', '.md')];
const FENCE = /^(`{3,})([^\n`]*)\n(.*?)^\1 *$/gms;
const CODE = /^(ts|tsx|js|jsx|mjs|cjs|typescript|javascript)\b/;
const INFO = /^ts file=(examples\/[\w/.-]+\.ts)$/;

function blocksOf(page: string): Block[] {
  return [...read(page).matchAll(FENCE)].map(({ index, input, 2: info, 3: text }) => {
    return { page, line: input.slice(0, index).split('\n').length, info: info!.trim(), text: text! };
  });
}

const code = PAGES.flatMap(blocksOf).filter(({ info }) => CODE.test(info) || info.includes('file='));

describe('code in the documents', () => {
  /** The examples that tests import, directly or through other examples. */
  const tested = new Set<string>();
  const follow = (file: string): void => {
    for (const [, path = ''] of read(file).matchAll(/from '(\.[^']+)\.js'/g)) {
      const imported = posix.join(posix.dirname(file), `${path}.ts`);
      if (!imported.startsWith('examples/') || tested.has(imported)) continue;
      tested.add(imported);
      follow(imported);
    }
  };
  filesIn('test', '.ts').forEach(follow);

  it('is found', () => {
    expect(code.length).toBeGreaterThan(5);
  });

  it.each(code.map((block) => [`${block.page}:${block.line}`, block] as const))(
    'is part of an example that a test imports: %s',
    (_, { info, text }) => {
      expect(info).toMatch(INFO);
      const [, file = ''] = INFO.exec(info) ?? [];
      expect(text.trim()).not.toBe('');
      // whole lines, so that a cut-off end cannot change the meaning
      expect(`\n${read(file)}`.includes(`\n${text}`) ? 'found' : text).toBe('found');
      expect(tested).toContain(file);
    },
  );
});

describe('links in the documents', () => {
  /** The anchors that GitHub gives the headings of a page. */
  const anchorsOf = (page: string): string[] =>
    [
      ...read(page)
        .replace(FENCE, '')
        .matchAll(/^#+ +(.+)$/gm),
    ].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );

  it.each(PAGES)('lead to pages and headings that exist: %s', (page) => {
    const links = [
      ...read(page)
        .replace(FENCE, '')
        .matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)/g),
    ];
    const broken = links.filter(([, path = '', anchor]) => {
      const target = path === '' ? page : posix.join(posix.dirname(page), path);
      return !exists(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});
