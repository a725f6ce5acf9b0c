import { appendFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Books } from './cluster-load.js';

const HEAD = [
  'fault',
  'requests',
  'longest wait, ms',
  'without Redis',
  'late',
  'lost',
  'log lines',
  'seconds to normal',
];

/** The figures of the faults, as a Markdown table that is appended to the file in FAULT_TABLE_CLUSTER, if set. */
export class FaultTable {
  private readonly rows: string[][] = [HEAD, HEAD.map(() => '---')];

  add(fault: string, books: Books, logLines: number, toNormalMs: number): void {
    const { requests, longestMs, withoutStore, late, lost } = books;
    const figures = [requests, Math.round(longestMs), withoutStore, late, lost, logLines];
    const seconds = Number.isNaN(toNormalMs) ? '–' : (toNormalMs / 1_000).toFixed(1);
    this.rows.push([fault, ...figures.map(String), seconds]);
  }

  async write(): Promise<void> {
    const file = process.env['FAULT_TABLE_CLUSTER'] ?? '';
    if (file === '') return;
    const { version } = createRequire(import.meta.url)('ioredis/package.json') as { version: string };
    const table = this.rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
    await appendFile(file, `ioredis ${version}\n\n${table}\n`);
  }
}
