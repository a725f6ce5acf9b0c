import { appendFile, writeFile } from 'node:fs/promises';
import type { Books } from './cluster-load.js';

const HEAD = [
  'fault',
  'visits',
  'longest wait, ms',
  'refused',
  'late',
  'doubled',
  'lost',
  'without end',
  'log lines',
  'seconds to normal',
];

/** Writes figures as a Markdown table into the file that FAULT_TABLE_CLUSTER names, or nowhere. */
export class FaultTable {
  private readonly file = process.env['FAULT_TABLE_CLUSTER'] ?? '';

  async begin(): Promise<void> {
    if (this.file !== '') await writeFile(this.file, `${row(HEAD)}${row(HEAD.map(() => '---'))}`);
  }

  async add(fault: string, books: Books, logLines: number, toNormalMs: number): Promise<void> {
    const { visits, longestMs, refused, late, doubled, lost, withoutEnd } = books;
    const figures = [visits, Math.round(longestMs), refused, late, doubled, lost, withoutEnd, logLines];
    const cells = [
      fault,
      ...figures.map(String),
      Number.isNaN(toNormalMs) ? '–' : (toNormalMs / 1_000).toFixed(1),
    ];
    if (this.file !== '') await appendFile(this.file, row(cells));
  }
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`;
}
