// Before a release: package.json must have the fields that only the publisher knows. Before `npm publish` at the root: always
// stops, because npm would send the registry the package.json of the repository, with its scripts and dependencies.
import { missingFields } from './manifest.mjs';
import { readManifest } from './published-files.mjs';

const problems = missingFields(readManifest());
if (process.env.npm_lifecycle_event === 'prepublishOnly') {
  problems.push('Publish with "npm run release". It packs, and publishes the tarball.');
}
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
