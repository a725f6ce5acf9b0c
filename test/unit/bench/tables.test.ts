import { readFileSync } from 'node:fs';
import { results } from './invented-results.js';

const bench = (file: string) => import(new URL(`../../../bench/${file}`, import.meta.url).href);
const { differences, fillBlocks, loadTables } = await bench('tables.mjs');
const { labelOf } = await bench('labels.mjs');
const { VARIANTS } = await bench('apps/variants.mjs');
const { labelOf: kindLabelOf } = await bench('algorithms-tables.mjs');
const { VARIANTS: KINDS_OF_COUNTERS } = await bench('algorithms/variants.mjs');
const { APPLICATIONS, BEFORE } = await bench('algorithms/applications.mjs');
const tables: Record<string, (from: object) => string | undefined> = await loadTables();

const measured = JSON.parse(readFileSync(new URL('../../../bench/results.json', import.meta.url), 'utf8'));
const say = (): void => undefined;
const rowsOf = (name: string): string[] => tables[name]!(results)!.split('\n');

describe('the pages and the chart', () => {
  it('show what bench/results.json says; if this fails: npm run bench:tables', async () => {
    const different: [string, string][] = await differences(measured, say);
    expect(different.map(([path]) => path)).toEqual([]);
  });

  it('differ if the results are others', async () => {
    const different: [string, string][] = await differences(results, say);
    expect(different.map(([path]) => path)).toEqual([
      'README.md',
      'docs/algorithms.md',
      'docs/how-far-one-redis-goes.md',
      'docs/performance.md',
      'bench/chart.svg',
    ]);
  });

  it('stay as they are, and say it, where nothing was measured', async () => {
    const said: string[] = [];
    expect(await differences({ rate: {} }, (line: string) => said.push(line))).toEqual([]);
    expect(said).toContain('README.md: results.json has nothing for "summary", it stays as it is');
    expect(said).toContain('bench/chart.svg: results.json has nothing for it, it stays as it is');
  });
});

describe('the tables', () => {
  const shown = Object.keys(tables).filter((name) => tables[name]!(results) !== undefined);

  it.each(shown)('have as many cells in each row: %s', (name) => {
    const rows = rowsOf(name);
    expect(rows.length).toBeGreaterThan(2);
    expect(new Set(rows.map((row) => row.split('|').length)).size).toBe(1);
    expect(rows.join()).not.toMatch(/undefined|NaN|null|Infinity|\[object/);
  });

  it.each(Object.keys(tables))('are left out without results: %s', (name) => {
    expect(tables[name]!({})).toBeUndefined();
  });

  it('have words for each variant', () => {
    const names = Object.keys(VARIANTS).filter((name) => !name.startsWith('before '));
    expect(names.filter((name) => labelOf(name) === name)).toEqual([]);
  });

  it('show figures with their intervals', () => {
    expect(rowsOf('rate fastify')).toContain(
      '| nestjs-freq-limit, Redis, 1 limit | 14 (12 to 17) | 21 (14 to 28) | 56 (8 to 104) | 3.5 | 0.42 | 1.1 | 4,000 |',
    );
    expect(rowsOf('rate fastify')).toContain(
      '| the bare application, measured again | 0.4 (−1.5 to 2.3) | 0.6 (−5.1 to 6.3) | 1.6 (−36.4 to 39.6) | | | 0.0 | 4,000 |',
    );
    expect(rowsOf('rate express').join()).not.toContain('before');
    expect(rowsOf('summary')).toContain(
      '| CPU, 5 limits in Redis | 20 ± 3 / 23 ± 3 | 239 ± 9 / 275 ± 10 | 151 ± 7 / 174 ± 9 |',
    );
  });

  it('show the measured share of denied requests', () => {
    const first = (name: string) => rowsOf(name).map((row) => row.split(' | ')[0]);
    expect(first('rate fastify')).toContain(
      '| nestjs-freq-limit, Redis, 5 limits, over the limit: 99.0 % denied',
    );
    expect(first('saturated')).toContain(
      '| nestjs-freq-limit, Redis, 5 limits, over the limit: 99.8 % denied; ratio to a guard that always throws the 429',
    );
  });

  it('say when each part was measured, if not all on one day', () => {
    const store = { ...results.measured.store, date: '2030-01-03' };
    const conditions = (from: object) => tables['conditions']!(from)!.split('\n').at(-1);

    expect(conditions(results)).toBe('| date | 2030-01-02 |');
    expect(conditions({ ...results, measured: { ...results.measured, store } })).toContain(
      'saturated on Express, growth, the kinds of counter; 2030-01-03: the store alone |',
    );
  });

  it('show figures of one block without an interval', () => {
    const row = { ...results.http.fastify[1], from: null, to: null };
    expect(tables['saturated']!({ http: { fastify: [row] } })).toContain('| 0.72 | 1.39 |');
  });

  it('show the kinds of counters by the checks of a call, and other libraries', () => {
    expect(rowsOf('algorithms')).toEqual(
      expect.arrayContaining([
        '| sliding window | 1.62 (1.57 to 1.67) | 2.27 | 1.62 (1.57 to 1.67) | 2.27 | 88 |',
        '| sliding window, first request in a sub-window | 2.10 (2.05 to 2.15) | 2.94 | 2.10 (2.05 to 2.15) | 2.94 | 88 |',
        '| all five kinds in one call | | | 1.90 (1.85 to 1.95) | 2.66 | 88 |',
      ]),
    );
    expect(rowsOf('algorithms against before')).toContain(
      '| 1 check per call, over the limit | 1.50 | 1.80 | 1.200 (1.196 to 1.204) | 1.210 (1.206 to 1.214) |',
    );
    expect(rowsOf('algorithms of other libraries')).toContain(
      '| nestjs-freq-limit, token bucket | 2.80 (2.40 to 3.20) | 1.40 | 0.01 | 4.20 (3.30 to 5.10) | 0.13 (−0.27 to 0.53) | 0.00 | 0.20 (−0.71 to 1.10) |',
    );
  });

  it('have words for each kind of counter', () => {
    const names = Object.keys(KINDS_OF_COUNTERS);
    expect(names.filter((name) => kindLabelOf(name) === name)).toEqual([]);
  });

  it('show what leases and settlements cost', () => {
    expect(rowsOf('settlements')).toEqual(
      expect.arrayContaining([
        '| lease, renewed | 1.40 (1.35 to 1.45) | 1.96 | 1.40 (1.35 to 1.45) | 1.96 | 88 |',
        '| token bucket, settled: more charged | 2.20 (2.15 to 2.25) | 3.08 | 2.20 (2.15 to 2.25) | 3.08 | 88 |',
      ]),
    );
    expect(rowsOf('requests with settlements')).toContain(
      '| 1 `concurrency` rule | 44 (41 to 47) | 20 (19 to 21) | 1.31 |',
    );
    expect(rowsOf('settled requests')).toContain(
      '| nestjs-freq-limit, `coalesce: false`: a lease, taken and released | 12.3 (11.9 to 12.7) | 6.15 | 2.00 | 18.5 (17.6 to 19.4) |',
    );
  });

  it('have words for each application with leases and settlements', () => {
    const one = { mean: 1, from: 1, to: 1 };
    const names = Object.keys({ ...APPLICATIONS, ...BEFORE });
    const rows = names.map((name) => ({ name, processUs: one, redisUs: one, calls: one }));
    const shown = tables['requests with settlements']!({ algorithms: { requests: { rows } } })!;
    const labels = shown.split('\n').map((row) => row.slice(2).split(' | ')[0]!);
    expect(labels.filter((label) => names.includes(label))).toEqual(['no rule']);
  });

  it('say whether a goal is met', () => {
    const met = rowsOf('goals').map((row) => row.split(' | ').slice(-3).join(' | '));
    expect(met).toEqual(
      expect.arrayContaining([
        '≤ 6 µs | 4.0 (2.1 to 5.9) | yes |',
        '≤ 1.2 × | 1.16 (1.07 to 1.25) | not sure |',
        '≤ 1.5 µs | 2.4 (2.1 to 2.7) | no |',
        '≥ 0.85 × | 0.87 (0.83 to 0.92) | not sure |',
        '≥ 0.95 × | 0.93 (0.89 to 0.98) | not sure |',
        '≤ 1.7 × | 1.62 (1.57 to 1.67) | yes |',
        '≤ 2.1 × | 2.42 (2.37 to 2.47) | no |',
        '≤ 3.2 × | 2.90 (2.85 to 2.95) | yes |',
        '≤ 1.03 × | 0.970 (0.966 to 0.974) | yes |',
        '≤ 1.03 × | 1.028 (1.024 to 1.032) | not sure |',
      ]),
    );
  });
});

describe('fillBlocks', () => {
  const one = { one: () => '| a |', none: () => undefined };
  const fill = (text: string): unknown => fillBlocks('page.md', text, one, {});

  it('replaces what is in a block, and nothing else', () => {
    const text = 'before\n\n<!-- bench: one -->\nold\n<!-- /bench -->\n\nafter\n';
    const filled = 'before\n\n<!-- bench: one -->\n\n| a |\n\n<!-- /bench -->\n\nafter\n';
    expect(fill(text)).toEqual({ text: filled, missing: [] });
    expect(fill(filled)).toEqual({ text: filled, missing: [] });
  });

  it('keeps a block without results', () => {
    const text = '<!-- bench: none -->\nold\n<!-- /bench -->\n';
    expect(fill(text)).toEqual({ text, missing: ['none'] });
  });

  it.each([
    ['<!-- bench: other -->\n<!-- /bench -->', 'page.md: unknown table "other"'],
    ['<!-- bench: one -->\nold\n', 'page.md: a block has no start or no end'],
    ['<!-- /bench -->', 'page.md: a block has no start or no end'],
    ['<!-- bench: one -->\n<!-- bench: none -->\n<!-- /bench -->', 'page.md: a block has no start or no end'],
  ])('stops at a wrong block: %j', (text, message) => {
    expect(() => fill(text)).toThrow(message);
  });
});
