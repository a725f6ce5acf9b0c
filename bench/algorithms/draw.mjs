// Draws the pictures of docs/algorithms.md and fills its tables, from run.json. With --run, runs the traffic first:
// npm run draw:algorithms
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { fillBlocks } from '../tables.mjs';
import { picture } from './picture.mjs';
import { tables } from './tables.mjs';
import { BLOCK_MS, LIMIT, SMALL_BURST, WINDOW_MS, WINDOWS } from './traffic.mjs';

const ROOT = new URL('../../', import.meta.url);
export const PAGE = 'docs/algorithms.md';
export const RUN = 'bench/algorithms/run.json';

const PER_WINDOW = `${LIMIT} requests per ${WINDOW_MS / 1_000} s`;
const PICTURES = {
  'fixed-window': `Fixed window: ${PER_WINDOW}`,
  'sliding-window': `Sliding window: ${PER_WINDOW}`,
  'token-bucket': `Token bucket: ${PER_WINDOW}, burst: ${LIMIT}`,
  calendar: `Calendar window: ${PER_WINDOW}`,
  block: `Sliding window: ${PER_WINDOW}, blockFor: '${BLOCK_MS / 1_000}s'`,
};

/** @returns the path and the text of the page and of each picture, for a run */
export function filesOf(run) {
  const { text } = fillBlocks(PAGE, readFileSync(new URL(PAGE, ROOT), 'utf8'), tables, run, 'run');
  const pictures = Object.entries(PICTURES).map(([kind, title]) => {
    const settings = { ...run, lengthMs: WINDOWS * WINDOW_MS, most: 2 * LIMIT };
    return [`docs/algorithms/${kind}.svg`, picture(title, rowsOf(run, kind), settings)];
  });
  return [[PAGE, text], ...pictures];
}

function rowsOf({ clients }, kind) {
  const rows = clients.filter((client) => client.kind === kind);
  if (kind !== 'token-bucket') return rows;
  const small = clients.find((client) => client.kind === 'small-bucket' && client.traffic === 'flood');
  return [...rows, { ...small, label: `Flood, burst: ${SMALL_BURST}` }];
}

async function newRun() {
  const { measure } = await import('./measure.mjs');
  const { clients, ...rest } = await measure();
  // a client in each line
  const lines = clients.map((client) => JSON.stringify(client)).join(',\n');
  const json = `${JSON.stringify(rest).slice(0, -1)},\n"clients":[\n${lines}\n]}\n`;
  writeFileSync(new URL(RUN, ROOT), json);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { run: { type: 'boolean' } } });
  if (values.run) await newRun();
  const run = JSON.parse(readFileSync(new URL(RUN, ROOT), 'utf8'));
  for (const [path, text] of filesOf(run)) writeFileSync(new URL(path, ROOT), text);
}
