// From the package.json of the repository to the one that users get.

/** What only this repository needs. */
const OWN = ['scripts', 'workspaces', 'devDependencies'];

/** The package.json that is packed. What is not filled in is left out. */
export function publishedManifest(manifest) {
  const url = repositoryOf(manifest);
  const published = { ...manifest, repository: url && { type: 'git', url: `git+${url}.git` } };
  published.homepage ||= url && `${url}#readme`;
  published.bugs ||= url && `${url}/issues`;
  published.author ||= undefined;
  for (const field of OWN) delete published[field];
  return published;
}

/**
 * The address of the repository, without an end such as `.git`; `undefined` if it is not filled in.
 * @throws {Error} if it is not an https address
 */
export function repositoryOf({ repository }) {
  const given = repository?.url ?? repository;
  if (!given) return undefined;
  const [, url] = /^(?:git\+)?(https:\/\/[^\s/]+\/[^\s?#]+?)(?:\.git|\/)?$/.exec(given) ?? [];
  if (url === undefined)
    throw new Error(`package.json: "repository" must be ${FORM}, got ${JSON.stringify(given)}.`);
  return url;
}

/** The faults that stop a publish. */
export function missingFields(manifest) {
  const missing = [];
  if (repositoryOf(manifest) === undefined)
    missing.push(
      `package.json: "repository" is empty. Write ${FORM}. The homepage, the address for bugs and the links of the README are made from it.`,
    );
  if (!manifest.author)
    missing.push('package.json: "author" is empty. Write a name, such as "Ann Lee <ann@example.com>".');
  return missing;
}

const FORM = 'the https address of the repository, such as "https://github.com/you/nestjs-freq-limit"';
