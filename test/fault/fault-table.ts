import { appendFile } from 'node:fs/promises';
import { ioredisVersion } from '../support/typescript-process.js';
import type { Row } from './harness.js';

// without the figures that must be 0 in every row: `breaches` checks them
const COLUMNS: readonly (readonly [string, (row: Row) => string | number])[] = [
  ['fault', ({ fault, topology }) => (topology === 'standalone' ? fault : `${topology}: ${fault}`)],
  ['requests', ({ requests }) => requests],
  ['longest wait, ms', ({ longestMs }) => longestMs],
  ['without Redis', ({ withoutStore }) => withoutStore],
  ['late', ({ late }) => late.length],
  ['lost', ({ lost }) => lost],
  ['log lines', ({ opened, closed, otherLines }) => opened + closed + otherLines.length],
  ['seconds to normal', ({ normalAfterS }) => normalAfterS.toFixed(2)],
];

/** Appends the rows as a Markdown table to the file in FAULT_TABLE, if set. */
export async function writeTable(rows: readonly Row[]): Promise<void> {
  const file = process.env['FAULT_TABLE'] ?? '';
  if (file === '') return;
  const head = [COLUMNS.map(([name]) => name), COLUMNS.map(() => '---')];
  const lines = [...head, ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row)))];
  const table = lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  await appendFile(file, `ioredis ${ioredisVersion()}\n\n${table}\n`);
}
