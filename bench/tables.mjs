// Fills the tables of the pages, and the chart, from results.json: npm run bench:tables.
// A table is between <!-- bench: name --> and <!-- /bench -->, each in a line of its own.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chart } from './chart.mjs';

/** Each exports `tables`: by name of the block, a function from results.json to Markdown; `undefined` if it was not measured. */
const SOURCES = [
  './rate-tables.mjs',
  './goal-tables.mjs',
  './load-tables.mjs',
  './algorithms-tables.mjs',
  './growth-tables.mjs',
];

const ROOT = new URL('../', import.meta.url);
const CHART = 'bench/chart.svg';

const read = (path) => readFileSync(new URL(path, ROOT), 'utf8');

export async function loadTables() {
  const modules = await Promise.all(SOURCES.map((source) => import(source)));
  return Object.assign({}, ...modules.map(({ tables }) => tables));
}

/**
 * @param {string} page where the text is from, for errors
 * @param {string} mark the first word in the comments around each table
 * @returns {{ text: string, missing: string[] }} the page with its tables, and the blocks that have no results. They stay as they are.
 */
export function fillBlocks(page, text, tables, results, mark = 'bench') {
  const missing = [];
  let blocks = 0;
  const pattern = new RegExp(`^<!-- ${mark}: ([^\\n]+) -->\\n(.*?)^<!-- /${mark} -->$`, 'gms');
  const filled = text.replace(pattern, (block, name) => {
    blocks++;
    if (!(name in tables)) throw new Error(`${page}: unknown table "${name}"`);
    const table = tables[name](results);
    if (table === undefined) missing.push(name);
    return table === undefined ? block : `<!-- ${mark}: ${name} -->\n\n${table}\n\n<!-- /${mark} -->`;
  });
  if ((text.match(new RegExp(`^<!-- /?${mark}\\b`, 'gm'))?.length ?? 0) !== 2 * blocks) {
    throw new Error(`${page}: a block has no start or no end`);
  }
  return { text: filled, missing };
}

/** @returns the path and the text of each page, and of the chart, that differs from these results */
export async function differences(results, say) {
  const tables = await loadTables();
  const docs = readdirSync(new URL('docs/', ROOT)).filter((name) => name.endsWith('.md'));
  const files = ['README.md', ...docs.map((name) => `docs/${name}`)].map((page) => {
    const { text, missing } = fillBlocks(page, read(page), tables, results);
    for (const name of missing) say(`${page}: results.json has nothing for "${name}", it stays as it is`);
    return [page, text];
  });
  if (Object.keys(results.rate ?? {}).length === 0)
    say(`${CHART}: results.json has nothing for it, it stays as it is`);
  else files.push([CHART, chart(results.rate)]);
  return files.filter(([path, text]) => read(path) !== text);
}

export async function fillTables(results, say) {
  for (const [path, text] of await differences(results, say)) {
    writeFileSync(new URL(path, ROOT), text);
    say(`wrote ${path}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const results = JSON.parse(read('bench/results.json'));
  await fillTables(results, (text) => console.error(text));
}
