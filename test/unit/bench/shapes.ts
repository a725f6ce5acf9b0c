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
/** Lines that may cross texts. */
const LINES = ['grid', 'axis', 'limit'];

/** The shapes of a picture made of `bench/chart-parts.mjs`. */
export function shapesOf(svg: string): Shape[] {
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

/**
 * Finds shapes outside the frame of a picture, and texts that overlap other shapes.
 * @param ignored classes of shapes that may overlap texts
 */
export function faultsOf(svg: string, ignored: readonly string[] = []): string[] {
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)!.map(Number);
  const skipped = ['page', 'halo', 'cut', ...ignored];
  const shapes = shapesOf(svg).filter(({ at }) => !skipped.includes(at['class']!));
  const areas = shapes.map(areaOf);
  const outside = areas.filter(({ left, right, top, bottom }) => {
    return !(left >= 8 && right <= width! - 8 && top >= 8 && bottom <= height! - 8);
  });
  const inTheWay = (area: Area): boolean =>
    areas.some(({ what }, i) => {
      const isLine = LINES.includes(shapes[i]!.at['class']!);
      return !isLine && areas[i] !== area && what !== '' && overlap(area, areas[i]!);
    });
  const texts = areas.filter((_, i) => shapes[i]!.tag === 'text');
  return [
    ...outside.map(({ what }) => `${what} is outside`),
    ...texts.filter(inTheWay).map(({ what }) => `${what} overlaps`),
  ];
}

/** The colors of a set that are too similar to its page. */
export function faintColors(colors: Readonly<Record<string, string>>): string[] {
  return Object.entries(colors)
    .filter(([name]) => !['page', 'edge'].includes(name))
    .filter(([name, color]) => contrast(colors['page']!, color) < (['text', 'soft'].includes(name) ? 4.5 : 3))
    .map(([name]) => name);
}

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
