// Before npm publish: package.json must have the fields that only the publisher knows.
import { missingFields } from './manifest.mjs';
import { readManifest } from './published-files.mjs';

const missing = missingFields(readManifest());
if (missing.length > 0) {
  console.error(missing.join('\n'));
  process.exit(1);
}
