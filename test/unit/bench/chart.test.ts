import { results } from './invented-results.js';

const bench = (file: string) => import(new URL(`../../../bench/${file}`, import.meta.url).href);
const { chart } = await bench('chart.mjs');
const { COLORS } = await bench('chart-parts.mjs');

interface Shape {
  readonly tag: string;
  readonly at: Readonly<Record<string, string>>;
  readonly content: string;
}

/** What a shape covers, in units of the picture. */
interface Area {
  readonly what: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const SHAPE = /<(text|rect|line|path) ([^>]*?)\/?>(?:([^<]*)<\/text>)?/g;
/** Of a wide system font, such as DejaVu Sans, as a share of the font size. */
const LETTER = 0.53;
const FONT_SIZES: Record<string, number> = { big: 16, tick: 11 };

function shapesOf(svg: string): Shape[] {
  return [...svg.matchAll(SHAPE)].map(([, tag = '', attributes = '', content = '']) => {
    const pairs = [...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]);
    return { tag, at: Object.fromEntries(pairs), content };
  });
}

function areaOf({ tag, at, content }: Shape): Area {
  const number = (name: string): number => Number(at[name]);
  if (tag === 'line') {
    const [left, right, top, bottom] = ['x1', 'x2', 'y1', 'y2'].map(number);
    return { what: 'line', left: left!, right: right!, top: top!, bottom: bottom! };
  }
  if (tag === 'path') {
    const [, left, y, right] = /^M([\d.]+) ([\d.]+)H([\d.]+)/.exec(at['d']!)!.map(Number);
    return { what: 'whisker', left: left!, right: right!, top: y! - 4, bottom: y! + 4 };
  }
  const [x, y] = [number('x'), number('y')];
  if (tag === 'rect')
    return { what: 'bar', left: x, right: x + number('width'), top: y, bottom: y + number('height') };
  const size = FONT_SIZES[at['class']!.split(' ').find((name) => name in FONT_SIZES) ?? ''] ?? 13;
  const width = content.length * size * LETTER;
  const left = x - width * { start: 0, middle: 0.5, end: 1 }[at['text-anchor'] as 'start'];
  return { what: content, left, right: left + width, top: y - size * 0.8, bottom: y + size * 0.25 };
}

const overlap = (a: Area, b: Area): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function faultsOf(svg: string): string[] {
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)!.map(Number);
  const shapes = shapesOf(svg).filter(({ at }) => !['page', 'halo', 'cut'].includes(at['class']!));
  const areas = shapes.map(areaOf);
  const outside = areas.filter(({ left, right, top, bottom }) => {
    return !(left >= 8 && right <= width! - 8 && top >= 8 && bottom <= height! - 8);
  });
  const inTheWay = (area: Area): boolean =>
    areas.some(({ what }, i) => {
      const isGrid = ['grid', 'axis'].includes(shapes[i]!.at['class']!);
      return !isGrid && areas[i] !== area && what !== '' && overlap(area, areas[i]!);
    });
  const texts = areas.filter((_, i) => shapes[i]!.tag === 'text');
  return [
    ...outside.map(({ what }) => `${what} is outside`),
    ...texts.filter(inTheWay).map(({ what }) => `${what} overlaps`),
  ];
}

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
    const withClass = (name: string): Shape[] => shapes.filter(({ at }) => at['class'] === name);
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
      for (const [name, color] of Object.entries(colors)) {
        if (['page', 'edge'].includes(name)) continue;
        const least = ['text', 'soft'].includes(name) ? 4.5 : 3;
        expect([name, contrast(colors['page']!, color) >= least]).toEqual([name, true]);
      }
    },
  );
});

/** The contrast of WCAG 2. */
function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light! + 0.05) / (dark! + 0.05);
}

function luminance(color: string): number {
  const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
  const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}
