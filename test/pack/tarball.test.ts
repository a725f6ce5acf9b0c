import { readFile, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { ROOT, tarballPath, Unpacked } from './tarball.ts';

/** All fields of the packed package.json but the four that the publisher fills in. */
const FIELDS = [
  ...['name', 'version', 'description', 'keywords', 'license'],
  ...['type', 'sideEffects', 'engines', 'main', 'module', 'types', 'exports', 'typesVersions', 'files'],
  ...['dependencies', 'peerDependencies', 'peerDependenciesMeta'],
];
const FILLED_IN = ['author', 'repository', 'homepage', 'bugs'];

describe('the packed package', () => {
  let tarball: Unpacked;
  const read = (file: string): Promise<string> => readFile(join(tarball.folder, file), 'utf8');
  const readManifest = async () => JSON.parse(await read('package.json')) as Record<string, unknown>;

  beforeAll(async () => {
    tarball = await Unpacked.from(tarballPath());
  });
  afterAll(() => tarball.remove());

  it('contains the build, the Lua sources and the documents, and nothing else', () => {
    const known = /^(dist\/(esm|cjs)\/.+\.(js|d\.ts)|lua\/.+\.lua|docs\/.+\.(md|svg))$/;
    expect(tarball.files.filter((file) => !known.test(file)).sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bench/chart.svg',
      'dist/cjs/package.json',
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

  it('has a package.json without fields for the development of the package', async () => {
    const manifest = await readManifest();
    const fields = Object.keys(manifest).filter((field) => !FILLED_IN.includes(field));
    expect(fields.sort()).toEqual(FIELDS.sort());
    expect(Object.keys(manifest['dependencies']!)).toEqual(['cluster-key-slot', 'ipaddr.js']);
  });

  it('is small: no source maps, no comments in its JavaScript', async () => {
    const sizes = await Promise.all(tarball.files.map(async (file) => (await read(file)).length));
    const unpacked = sizes.reduce((sum, size) => sum + size, 0);
    const packed = (await stat(tarballPath())).size;
    expect({ unpacked: unpacked < 2_400_000, packed: packed < 450_000 }).toEqual({
      unpacked: true,
      packed: true,
    });
    for (const file of tarball.files.filter((name) => name.endsWith('.js')))
      expect({ file, notes: /^\s*(\/\*|\/\/).*/m.exec(await read(file))?.[0] }).toEqual({
        file,
        notes: undefined,
      });
  });

  it('has no dead link in its documents', async () => {
    const pages = tarball.files.filter((file) => file.endsWith('.md'));
    expect(pages.length).toBeGreaterThan(20);
    for (const page of pages) {
      const links = (await read(page)).matchAll(/\]\((?!\w+:|#)([^)\s#]+)/g);
      const targets = [...links].map(([, path]) => posix.join(posix.dirname(page), path!));
      expect({ page, dead: targets.filter((path) => !tarball.files.includes(path)) }).toEqual({
        page,
        dead: [],
      });
    }
  });

  it('contains every file that package.json names', async () => {
    const { main, module, types, exports, typesVersions } = await readManifest();
    const paths = Object.values(exports as Record<string, unknown>).filter(
      (path) => typeof path === 'object',
    );
    expect(paths).toHaveLength(3);
    const named = textsIn([main, module, types, paths, typesVersions]);
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
});

/** All strings in a value, at any depth. */
function textsIn(value: unknown): string[] {
  return typeof value === 'string'
    ? [value]
    : Object.values(Object(value) as Record<string, unknown>).flatMap(textsIn);
}
