import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as imported from 'nestjs-freq-limit';
import { report } from './requests.js';

const required = createRequire(join(process.cwd(), 'any.js'))('nestjs-freq-limit') as typeof imported;

report(async () => {
  const later = await import('nestjs-freq-limit');
  const names = Object.keys(required) as (keyof typeof imported)[];
  const differing = names.filter(
    (name) => imported[name] !== required[name] || later[name] !== required[name],
  );
  return { names: names.length, differing };
});
