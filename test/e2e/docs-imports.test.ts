import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const PAGES = ['README.md', ...readdirSync(new URL('docs/', ROOT)).map((file) => `docs/${file}`)].filter(
  (file) => file.endsWith('.md'),
);

const BLOCK = /^```ts file=(\S+)\n(.*?)^```/gms;
/** A parameter with a decorator and a type that is not written there: `@Req() request: Request`. */
const PARAMETER = /@\w+\([^()]*\) (?:\{[^{}]*\}|\w+)\??: ([A-Z]\w*)/g;

describe('a page', () => {
  // TS1272: the compiler requires it with isolatedModules and emitDecoratorMetadata
  it.each(PAGES)('shows the type import of each type of a decorated parameter: %s', (page) => {
    const blocks = [...read(page).matchAll(BLOCK)].map(([, file = '', text = '']) => ({ file, text }));
    const shown = blocks.map(({ text }) => text).join('');
    const hidden = blocks.flatMap(({ file, text }) =>
      [...text.matchAll(PARAMETER)]
        .map(([, type = '']) => type)
        // a type that is also a decorator is imported as a value
        .filter((type) => !text.includes(`@${type}(`))
        .filter((type) => new RegExp(`^import .*\\b${type}\\b`, 'm').test(read(file)))
        .filter((type) => !new RegExp(`^import .*\\btype\\b.*\\b${type}\\b`, 'm').test(shown)),
    );
    expect(hidden).toEqual([]);
  });
});
