// The chart of the README, drawn by hand: the CPU time that a limiter adds to a request, for the process and for Redis.
import { EDGE, heading, INKS, line, oneDecimal, PAGE_COLORS, svg, text, WIDTH } from './chart-parts.mjs';
import { labelOf, PLATFORMS, rateOf } from './labels.mjs';
import { number, plusMinus } from './markdown.mjs';

/** By library, from top to bottom; a class of the style is its color. */
const GROUPS = {
  guard: ['guard with evalsha 1 redis', 'guard with evalsha 5 redis'],
  ours: ['ours 5 memory', 'ours 1 redis', 'ours 5 redis'],
  throttler: ['throttler + nest-lab 1 redis', 'throttler + nest-lab 5 redis'],
  flexible: ['rate-limiter-flexible 1 redis', 'rate-limiter-flexible 5 redis'],
};

/** Those of the bars differ also for people with a color blindness. */
export const COLORS = {
  light: {
    ...PAGE_COLORS.light,
    guard: '#32383f',
    ours: INKS.light.blue,
    throttler: INKS.light.orange,
    flexible: '#cc79a7',
  },
  dark: {
    ...PAGE_COLORS.dark,
    guard: '#d1d7e0',
    ours: INKS.dark.blue,
    throttler: INKS.dark.orange,
    flexible: '#b86aa0',
  },
};

const TITLE = 'CPU time that a rate limiter adds to a request';
const SUBTITLE = 'Microseconds, compared to the same application without one. Mean and 95 % interval.';
const NOTE = 'In Redis, @nestjs/throttler counts with @nest-lab/throttler-storage-redis.';

// the labels of rows end here
const LEFT = 284;
// of the figures after the longest bars
const FIGURE = 104;
const REDIS_FIGURE = 42;
const ROW = 22;
const BAR = 12;
const LIBRARY_GAP = 8;
const TICK_LINE = 14;
const MUCH_LONGER = 5;
const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

/** @param rate the part of results.json at a fixed rate, by platform */
export function chart(rate) {
  const platforms = Object.keys(PLATFORMS).filter((platform) => rate[platform] !== undefined);
  const panels = panelsOf(platforms.flatMap((platform) => rate[platform].rows));
  const parts = heading(TITLE, SUBTITLE);
  let y = 84;
  for (const platform of platforms) {
    const { rows } = rate[platform];
    parts.push(text('bold', EDGE, y, PLATFORMS[platform]));
    parts.push(text('soft', LEFT, y, 'CPU of the process, µs'));
    parts.push(text('soft', panels.redis.zero, y, 'CPU of Redis, µs'));
    y += 10;
    const drawn = drawRows(rows, panels, y);
    parts.push(grid(panels, y, drawn.bottom), ...drawn.parts);
    parts.push(...ratesOf(rows, drawn.bottom + TICK_LINE));
    y = drawn.bottom + 58;
  }
  return svg(y + 10, TITLE, [...parts, text('soft', EDGE, y - 8, NOTE)], COLORS);
}

/** At how many requests per second the rows were measured. */
function ratesOf(rows, y) {
  const at = (...libraries) => {
    const names = libraries.flatMap((library) => GROUPS[library]);
    const own = rows.filter(({ name }) => names.includes(name));
    return own.length === 0 ? '' : rateOf({ rows: own });
  };
  const [own, others] = [at('guard', 'ours'), at('throttler', 'flexible')];
  const lines = own === '' ? [] : [`at ${own} requests/s`];
  if (others !== '' && others !== own) lines.push(`other libraries at ${others}`);
  return lines.map((content, i) => text('tick', EDGE, y + i * TICK_LINE, content));
}

/** The two panels have one scale: a microsecond of Redis is as long as one of the process. */
function panelsOf(rows) {
  const shown = Object.values(GROUPS).flat();
  const drawn = rows.filter(({ name }) => shown.includes(name));
  const lowest = Math.min(0, ...drawn.map(({ cpuUs }) => cpuUs.from));
  const highest = axisEnd(drawn.map(({ cpuUs }) => cpuUs.to ?? cpuUs.mean));
  const redis = axisEnd(drawn.map(({ redisUs }) => redisUs));
  // neither panel is too narrow for its heading
  const processUs = Math.max(highest - lowest, 0.6 * redis);
  const redisUs = Math.max(redis, 0.3 * processUs);
  const scale = (WIDTH - EDGE - LEFT - FIGURE - REDIS_FIGURE) / (processUs + redisUs);
  const zero = LEFT - lowest * scale;
  const zeroOfRedis = LEFT + processUs * scale + FIGURE;
  const step = TICKS.find((tick) => tick * scale >= 44);
  return {
    process: { zero, scale, step, highest },
    redis: { zero: zeroOfRedis, scale, step, highest: redis },
  };
}

/** The end of an axis. Few bars that are much longer than all others are cut, because the others would be too short. */
function axisEnd(ends) {
  const [longest = 1, ...others] = ends.filter((end) => end >= 1).sort((a, b) => b - a);
  const few = others.slice(0, others.length / 4);
  const cut = few.findLastIndex((end, i) => (i === 0 ? longest : few[i - 1]) > MUCH_LONGER * end);
  return cut === -1 ? longest : few[cut];
}

function grid(panels, top, bottom) {
  return Object.values(panels)
    .flatMap(({ zero, scale, step, highest }) => {
      const ticks = Array.from({ length: Math.floor(highest / step) + 1 }, (_, i) => i * step);
      return ticks.map((tick) => {
        const x = zero + tick * scale;
        return line(tick === 0 ? 'axis' : 'grid', x, top, x, bottom) + tickLabel(x, bottom + TICK_LINE, tick);
      });
    })
    .join('\n');
}

const tickLabel = (x, y, tick) => text('tick', x, y, number(tick, 0), 'middle');

function drawRows(rows, { process, redis }, top) {
  const parts = [];
  let y = top;
  for (const [library, names] of Object.entries(GROUPS)) {
    const found = names.map((name) => rows.find((row) => row.name === name)).filter(Boolean);
    if (found.length === 0) continue;
    y += LIBRARY_GAP;
    for (const { name, cpuUs, redisUs } of found) {
      parts.push(text('text', LEFT - 8, y + ROW / 2 + 4, labelOf(name), 'end'));
      parts.push(bar(process, library, y, cpuUs.mean), interval(process, y, cpuUs));
      if (name.endsWith(' redis')) parts.push(redisBar(redis, library, y, redisUs));
      y += ROW;
    }
  }
  return { parts, bottom: y + LIBRARY_GAP };
}

function bar({ zero, scale, highest }, library, y, value) {
  const [from, to] = [Math.min(0, value), Math.max(0, value)].map(
    (end) => zero + Math.min(end, highest) * scale,
  );
  const top = y + (ROW - BAR) / 2;
  const box = `x="${oneDecimal(from)}" y="${top}" width="${oneDecimal(to - from)}" height="${BAR}"`;
  const mark =
    value > highest
      ? `<path class="cut" d="M${oneDecimal(to - 16)} ${top + BAR + 2}l6 -${BAR + 4}m6 0l-6 ${BAR + 4}"/>`
      : '';
  return `<rect class="${library}" ${box}/>${mark}`;
}

/** The whisker over a bar, and the figure after it. */
function interval(panel, y, { mean, from, to }) {
  const label = plusMinus({ mean, from, to });
  if (from === null || to > panel.highest) {
    return figure(panel, y, Math.min(Math.max(0, mean), panel.highest), label);
  }
  const middle = y + ROW / 2;
  const [left, right] = [from, to].map((end) => oneDecimal(panel.zero + end * panel.scale));
  const path = `M${left} ${middle}H${right}M${left} ${middle - 4}v8M${right} ${middle - 4}v8`;
  const whisker = ['halo', 'whisker'].map((name) => `<path class="${name}" d="${path}"/>`).join('');
  return whisker + figure(panel, y, Math.max(0, to), label);
}

function redisBar(panel, library, y, value) {
  return bar(panel, library, y, value) + figure(panel, y, Math.min(value, panel.highest), number(value));
}

function figure({ zero, scale }, y, end, content) {
  return text('figure', zero + end * scale + 6, y + ROW / 2 + 4, content);
}
