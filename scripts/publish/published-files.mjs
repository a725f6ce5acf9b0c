// The files whose packed text differs from the one in the repository.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { withPublishedLinks } from './links.mjs';
import { publishedManifest, repositoryOf } from './manifest.mjs';

const root = new URL('../../', import.meta.url);

/** Packed whatever `files` says. */
const ALWAYS = ['package.json', 'README.md', 'LICENSE'];

const read = (path) => readFileSync(new URL(path, root), 'utf8');
export const readManifest = () => JSON.parse(read('package.json'));

/** The path and the packed text of each such file. */
export function publishedFiles() {
  const manifest = readManifest();
  const packed = [...ALWAYS, ...manifest.files];
  const isPacked = (path) =>
    existsSync(new URL(path, root)) && packed.some((part) => path === part || path.startsWith(`${part}/`));
  const context = { isPacked, repository: repositoryOf(manifest), version: manifest.version };
  const pages = packed.flatMap(pagesIn).map((page) => [page, withPublishedLinks(page, read(page), context)]);
  return [
    ['package.json', `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`],
    ...pages.filter(([page, text]) => text !== read(page)),
  ];
}

function pagesIn(part) {
  if (part.startsWith('dist/')) return [];
  if (part.endsWith('.md')) return [part];
  if (part.includes('.') || part === 'LICENSE') return [];
  return readdirSync(new URL(part, root), { recursive: true })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `${part}/${file}`);
}
