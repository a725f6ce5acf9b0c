import { results } from './invented-results.js';
import { faintColors, faultsOf, shapesOf } from './shapes.js';

const bench = (file: string) => import(new URL(`../../../bench/${file}`, import.meta.url).href);
const { chart, COLORS } = await bench('chart.mjs');

/** The invented results, with other figures for some variants. */
function rateWith(change: (name: string) => object | undefined) {
  return Object.fromEntries(
    Object.entries(results.rate).map(([platform, measured]) => [
      platform,
      { ...measured, rows: measured.rows.map((row) => ({ ...row, ...change(row.name) })) },
    ]),
  );
}

const around = (mean: number, half: number) => ({ mean, from: mean - half, to: mean + half });

const CASES: Record<string, object> = {
  'usual results': results.rate,
  'one platform': { fastify: results.rate.fastify },
  'wide intervals around 0': rateWith(() => ({ cpuUs: around(-3, 30) })),
  'very fast libraries': rateWith(() => ({ cpuUs: around(0.4, 0.2), redisUs: 0.2 })),
  'a Redis that is slower than the process': rateWith(() => ({ cpuUs: around(20, 2), redisUs: 900 })),
  'one bar that is much longer than the others': rateWith((name) =>
    name === 'throttler + nest-lab 5 redis' ? { cpuUs: around(5120, 1000) } : undefined,
  ),
  'results of one block, which have no interval': rateWith(() => ({
    cpuUs: { mean: 20, from: null, to: null },
  })),
  'no results': {},
};

describe('the chart', () => {
  it.each(Object.entries(CASES))('has nothing outside its frame and no texts that overlap: %s', (_, rate) => {
    expect(faultsOf(chart(rate))).toEqual([]);
  });

  it('has a bar, a whisker and a figure for each variant', () => {
    const shapes = shapesOf(chart({ fastify: results.rate.fastify }));
    const withClass = (name: string) => shapes.filter(({ at }) => at['class'] === name);
    expect(['guard', 'ours', 'throttler', 'flexible'].map((name) => withClass(name).length)).toEqual([
      4, 5, 4, 4,
    ]);
    expect(withClass('whisker')).toHaveLength(9);
    expect(withClass('figure').map(({ content }) => content)).toEqual(
      expect.arrayContaining(['5.6 ± 2.1', '239 ± 9', '99', '3.5']),
    );
  });

  it('keeps short bars visible if one is much longer', () => {
    const shapes = shapesOf(chart(CASES['one bar that is much longer than the others']));
    const widths = shapes.filter(({ at }) => at['class'] === 'ours').map(({ at }) => Number(at['width']));
    expect(Math.min(...widths)).toBeGreaterThan(3);
  });

  it.each(Object.entries(COLORS as Record<string, Record<string, string>>))(
    'has enough contrast on its %s page',
    (_, colors) => {
      expect(faintColors(colors)).toEqual([]);
    },
  );
});
