import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type typescript from 'typescript';
import { DOC_TAGS } from '../support/doc-tags.ts';
import { ROOT } from './tarball.ts';

const require = createRequire(import.meta.url);

const DECLARATIONS = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.d.ts'))
  .map((file) => ({ file, text: readFileSync(join(ROOT, 'dist', file), 'utf8') }));

/** The names of all tags that a version of TypeScript finds in doc comments. */
function tagsIn(text: string, ts: typeof typescript): string[] {
  const tags = new Set<typescript.JSDocTag>();
  const collect = (node: typescript.Node): void => {
    for (const tag of ts.getJSDocTags(node)) tags.add(tag);
    ts.forEachChild(node, collect);
  };
  collect(ts.createSourceFile('a.d.ts', text, ts.ScriptTarget.Latest, true));
  return [...tags].map(({ tagName }) => tagName.text);
}

describe('the built declarations', () => {
  it('are found', () => {
    expect(DECLARATIONS.length).toBeGreaterThan(20);
  });

  it.each([
    ['5.0', require('typescript-5') as typeof typescript],
    ['6.0', require('typescript') as typeof typescript],
  ])('have only meant tags for TypeScript %s', (_, ts) => {
    const found = DECLARATIONS.flatMap(({ file, text }) => tagsIn(text, ts).map((tag) => ({ file, tag })));
    expect(found.length).toBeGreaterThan(50);
    expect(found.filter(({ tag }) => !DOC_TAGS.includes(tag))).toEqual([]);
  });

  it('have only meant tags at the start of a line, for any other reader', () => {
    const found = DECLARATIONS.flatMap(({ file, text }) =>
      [...text.matchAll(/^\s*(?:\/\*)?\*+ *@(\w+)/gm)].map(([, tag = '']) => ({ file, tag })),
    );
    expect(found.length).toBeGreaterThan(50);
    expect(found.filter(({ tag }) => !DOC_TAGS.includes(tag))).toEqual([]);
  });
});
