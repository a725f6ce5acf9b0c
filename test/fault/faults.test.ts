import { writeTable } from './fault-table.js';
import { FAULTS } from './faults.js';
import { breaches, type Row, runFault } from './harness.js';

const rows: Row[] = [];

afterAll(() => writeTable(rows));

describe('a store with clients of every policy at once', () => {
  it.each(FAULTS)('answers all requests and charges none twice: $topology, $name', async (fault) => {
    const row = await runFault(fault);
    rows.push(row);
    expect(breaches(row, fault.expected)).toEqual([]);
  });
});
