import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Clone } from './clone.ts';
import { TestRegistry } from './registry.ts';
import { run } from './run.ts';
import { ROOT, Unpacked } from './tarball.ts';

const REPOSITORY = 'https://github.com/ann/nestjs-freq-limit';
const FILLED_IN = { author: 'Ann', repository: REPOSITORY };
/** The packed fields that come from these two. */
const PUBLISHED = {
  author: 'Ann',
  repository: { type: 'git', url: `git+${REPOSITORY}.git` },
  homepage: `${REPOSITORY}#readme`,
  bugs: `${REPOSITORY}/issues`,
};

let clone: Clone | undefined;
let unpacked: Unpacked | undefined;

afterEach(async () => {
  await clone?.remove();
  await unpacked?.remove();
  [clone, unpacked] = [undefined, undefined];
});

const parsed = async (path: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;

describe('npm pack at the root of the repository', () => {
  it('makes four fields and the links of the pages from two fields', async () => {
    clone = await Clone.create(FILLED_IN);
    const before = await clone.files();
    expect(await clone.npm('pack', '--pack-destination', 'dist')).toMatchObject({ code: 0 });
    expect(await clone.files()).toEqual(before);

    const { version } = await parsed(join(ROOT, 'package.json'));
    unpacked = await Unpacked.from(join(clone.folder, `dist/nestjs-freq-limit-${version as string}.tgz`));
    const manifest = await parsed(join(unpacked.folder, 'package.json'));
    expect(manifest).toMatchObject(PUBLISHED);
    expect(manifest).not.toHaveProperty('scripts');
    const [readme, answers] = await Promise.all(
      ['README.md', 'docs/answers.md'].map((page) => readFile(join(unpacked!.folder, page), 'utf8')),
    );
    const pages = `${REPOSITORY}/blob/v${version as string}`;
    expect(readme).toContain(`](${pages}/docs/http.md#ip-addresses)`);
    expect(readme).toContain(`](${pages.replace('/blob/', '/raw/')}/docs/request.svg)`);
    expect(readme).not.toMatch(/\]\((?!https:)/);
    expect(answers).toContain(`](${pages}/examples/http/answers.ts)`);
    expect(answers).toContain('](service.md#verdicts)');
  });

  it('changes nothing if the build fails', async () => {
    clone = await Clone.create(FILLED_IN, 'exit 3');
    const before = await clone.files();
    expect((await clone.npm('pack')).code).not.toBe(0);
    expect(await clone.files()).toEqual(before);
  });

  it.each([
    ['github:ann/nestjs-freq-limit', '"github:ann/nestjs-freq-limit"'],
    [{ type: 'git', url: 'git@github.com:ann/x.git' }, '"git@github.com:ann/x.git"'],
  ])('stops at a repository of another form, %j', async (repository, given) => {
    clone = await Clone.create({ repository });
    const before = await clone.files();
    const { code, stderr } = await clone.npm('pack');
    expect(code).not.toBe(0);
    expect(stderr).toContain(
      `Error: package.json: "repository" must be the https address of the repository, such as "https://github.com/you/nestjs-freq-limit", got ${given}.`,
    );
    expect(await clone.files()).toEqual(before);
  });

  it.each([`${REPOSITORY}.git`, `${REPOSITORY}/`, { type: 'git', url: `git+${REPOSITORY}.git` }])(
    'reads the address of the repository from %j',
    async (repository) => {
      clone = await Clone.create({ ...FILLED_IN, repository });
      await clone.npm('pack', '--pack-destination', 'dist');
      const { version } = await parsed(join(ROOT, 'package.json'));
      unpacked = await Unpacked.from(join(clone.folder, `dist/nestjs-freq-limit-${version as string}.tgz`));
      expect(await parsed(join(unpacked.folder, 'package.json'))).toMatchObject(PUBLISHED);
    },
  );

  it('can be undone if it was interrupted', async () => {
    clone = await Clone.create(FILLED_IN);
    const before = await clone.files();
    expect(await clone.npm('run', 'prepack')).toMatchObject({ code: 0 });
    expect(await clone.files()).not.toEqual(before);
    const { code } = await run(process.execPath, ['scripts/publish/restore.mjs'], { cwd: clone.folder });
    expect(code).toBe(0);
    expect(await clone.files()).toEqual(before);
  });
});

describe('a release', () => {
  let registry: TestRegistry;

  beforeEach(async () => {
    registry = await TestRegistry.start();
  });
  afterEach(() => registry.stop());

  it('sends the registry the same package.json as in the tarball', async () => {
    clone = await Clone.create(FILLED_IN);
    await registry.use(clone.folder);
    const before = await clone.files();
    expect(await clone.npm('run', 'release')).toMatchObject({ code: 0 });
    expect(await clone.files()).toEqual(before);

    const [upload] = registry.uploads;
    const [sent] = Object.values(upload!.versions);
    const tarball = join(clone.folder, 'dist/sent.tgz');
    await writeFile(tarball, Buffer.from(Object.values(upload!._attachments)[0]!.data, 'base64'));
    unpacked = await Unpacked.from(tarball);
    const manifest = await parsed(join(unpacked.folder, 'package.json'));
    expect(sent).toMatchObject({ ...manifest, author: { name: 'Ann' }, bugs: { url: PUBLISHED.bugs } });
    for (const field of ['scripts', 'devDependencies', 'workspaces']) expect(sent).not.toHaveProperty(field);
  });

  it.each([['run', 'release'], ['publish']])(
    'stops as long as a field is empty (npm %s)',
    async (...command) => {
      clone = await Clone.create({ author: '', repository: '' });
      await registry.use(clone.folder);
      const { code, stderr } = await clone.npm(...command);
      expect(code).not.toBe(0);
      expect(stderr).toContain(
        'package.json: "repository" is empty. Write the https address of the repository, such as',
      );
      expect(stderr).toContain('package.json: "author" is empty. Write a name, such as');
      expect(registry.uploads).toEqual([]);
    },
  );

  it('is not possible with npm publish, which would send the package.json of the repository', async () => {
    clone = await Clone.create(FILLED_IN);
    await registry.use(clone.folder);
    const { code, stderr } = await clone.npm('publish');
    expect(code).not.toBe(0);
    expect(stderr).toContain('Publish with "npm run release". It packs, and publishes the tarball.');
    expect(registry.uploads).toEqual([]);
  });
});
