import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack, ROOT, type Tarball } from './tarball.ts';

describe('the packed package', () => {
  let folder: string;
  let tarball: Tarball;
  const read = (file: string): Promise<string> => readFile(join(ROOT, file), 'utf8');

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freq-limit-tarball-'));
    tarball = await pack(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('contains the build, the Lua sources and the documents, and nothing else', () => {
    const known = /^(dist\/(esm|cjs)\/.+\.(js|js\.map|d\.ts)|dist\/cjs\/package\.json|lua\/.+\.lua)$/;
    expect(tarball.files.filter((file) => !known.test(file)).sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'lua/README.md',
      'package.json',
    ]);
    expect(tarball.files).toEqual(
      expect.arrayContaining([
        'dist/cjs/package.json',
        'dist/esm/index.js',
        'dist/cjs/index.js',
        'lua/consume.lua',
      ]),
    );
  });

  it('contains every file that package.json names', async () => {
    const { main, module, types, exports, typesVersions } = JSON.parse(await read('package.json'));
    const paths = Object.values(exports as Record<string, unknown>).filter(
      (path) => typeof path === 'object',
    );
    expect(paths).toHaveLength(3);
    const named: string[] = [main, module, types, ...textsIn(paths), ...textsIn(typesVersions)];
    expect(named.length).toBeGreaterThan(20);
    expect(tarball.files).toEqual(expect.arrayContaining(named.map((file) => file.replace('./', ''))));
  });

  it('has the same files for both kinds of modules', () => {
    const [esm, cjs] = ['dist/esm/', 'dist/cjs/'].map((start) =>
      tarball.files.filter((file) => file.startsWith(start)).map((file) => file.slice(start.length)),
    );
    expect(cjs!.filter((file) => file !== 'package.json').sort()).toEqual(esm!.sort());
  });

  it('has the same declarations for both kinds of modules', async () => {
    const declarations = tarball.files.filter((file) => /^dist\/esm\/.+\.d\.ts$/.test(file));
    expect(declarations).toContain('dist/esm/index.d.ts');
    for (const file of declarations) expect(await read(file.replace('esm', 'cjs'))).toBe(await read(file));
  });

  it('needs ioredis in no declaration that users see', async () => {
    const seen = new Set<string>();
    const follow = async (file: string): Promise<void> => {
      if (seen.has(file)) return;
      seen.add(file);
      const text = await read(file);
      expect({ file, mentions: /(from|import\()\s*['"]ioredis['"]/.exec(text)?.[0] }).toEqual({
        file,
        mentions: undefined,
      });
      for (const [, path] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.js['"]/g))
        await follow(join(file, '..', `${path!}.d.ts`));
    };
    for (const entry of ['index', 'testing/index', 'throttler/index']) await follow(`dist/esm/${entry}.d.ts`);
    expect(seen.size).toBeGreaterThan(10);
  });

  it('has doc comments in its declarations', async () => {
    const options = await read('dist/esm/freq-limit.options.d.ts');
    const [body] = /interface FreqLimitOptions \{[^]*?\n\}/.exec(options)!;
    const properties = body.match(/^ {4}readonly \w+\?:/gm)!;
    const commented = body.match(/@default [^\n]+\n\s+\*\/\n {4}readonly \w+\?:/g);
    expect(properties.length).toBeGreaterThan(8);
    expect(commented).toHaveLength(properties.length);
    const decorator = await read('dist/esm/decorators/freq-limit.decorator.d.ts');
    expect(decorator).toMatch(
      /\/\*\*\n \* Limits how many requests[^/]*@FreqLimit\([^/]*@param window[^]*\*\/\nexport declare function FreqLimit\(/,
    );
  });

  it('names no file of the build machine', async () => {
    for (const file of tarball.files) {
      const text = await read(file);
      expect({
        file,
        path: /(file:\/\/|(^|[\s"'(=])(\/(home|Users|root|tmp|work|builds)|[A-Z]:\\)\/?\w)[^\s"']*/.exec(
          text,
        )?.[0],
      }).toEqual({
        file,
        path: undefined,
      });
      expect(text).not.toContain(ROOT);
    }
  });

  it('maps its JavaScript to sources in the package', async () => {
    const maps = tarball.files.filter((file) => file.endsWith('.map'));
    expect(maps.length).toBeGreaterThan(0);
    for (const file of maps) {
      const { sources, sourcesContent } = JSON.parse(await read(file));
      expect({ file, contents: sourcesContent?.length }).toEqual({ file, contents: sources.length });
    }
  });
});

/** All strings in a value, at any depth. */
function textsIn(value: unknown): string[] {
  return typeof value === 'string'
    ? [value]
    : Object.values(Object(value) as Record<string, unknown>).flatMap(textsIn);
}
