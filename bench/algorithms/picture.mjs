// A picture of docs/algorithms.md: the requests of each client, and how many passed in the last window's length.
import { EDGE, heading, INKS, line, oneDecimal, PAGE_COLORS, svg, text } from '../chart-parts.mjs';
import { lastWindow, worst } from './figures.mjs';
import { TRAFFIC } from './traffic.mjs';

export const COLORS = {
  light: { ...PAGE_COLORS.light, passed: INKS.light.blue, denied: INKS.light.orange },
  dark: { ...PAGE_COLORS.dark, passed: INKS.dark.blue, denied: INKS.dark.orange },
};

// of the time
const [LEFT, RIGHT] = [200, 684];
const TOP = 80;
const ROW_GAP = 22;
const LANE = 12;
const LANE_GAP = 3;
const CURVE_GAP = 20;
const CURVE = 52;
const TICK_LINE = 15;
const LINE = 16;

/**
 * @param title what counts, and the limit
 * @param rows the clients of the run, from top to bottom
 * @param settings of the run
 */
export function picture(title, rows, settings) {
  const { windowMs, lengthMs } = settings;
  const seconds = windowMs / 1_000;
  const subtitle = `Each line is a request. The area is how many passed in the last ${seconds} s; the dashed line is the limit.`;
  const parts = heading(title, subtitle);
  const drawn = rows.map((row, i) => drawRow(row, settings, TOP + i * (rowHeight + ROW_GAP)));
  const bottom = TOP + rows.length * (rowHeight + ROW_GAP) - ROW_GAP;
  const xOf = scaleOf(lengthMs);
  for (let ms = 0; ms <= lengthMs; ms += windowMs) {
    parts.push(line('grid', xOf(ms), TOP, xOf(ms), bottom));
    parts.push(text('tick', xOf(ms), bottom + TICK_LINE, ms === 0 ? '0' : `${ms / 1_000} s`, 'middle'));
  }
  return svg(bottom + TICK_LINE + 16, title, [...parts, ...drawn.flat()], COLORS, curveStyle);
}

const rowHeight = 2 * LANE + LANE_GAP + CURVE_GAP + CURVE;

function curveStyle({ passed, soft, edge, denied }) {
  return [
    `.area { fill: ${passed}; fill-opacity: 0.25; }`,
    `.curve { stroke: ${passed}; stroke-width: 1.5; fill: none; }`,
    `.limit { stroke: ${soft}; stroke-dasharray: 4 3; }`,
    `.window { fill: ${edge}; fill-opacity: 0.35; }`,
    `.blocked { fill: ${denied}; fill-opacity: 0.12; }`,
  ];
}

const scaleOf = (lengthMs) => (ms) => LEFT + (ms / lengthMs) * (RIGHT - LEFT);

function drawRow(row, settings, y) {
  const { windowMs, lengthMs, limit, most } = settings;
  const { passed, denied, traffic, label = TRAFFIC[traffic].label } = row;
  const xOf = scaleOf(lengthMs);
  const zero = y + rowHeight;
  const yOf = (count) => zero - (count / most) * CURVE;
  const top = worst(passed, windowMs);
  const deniedY = y + LANE + LANE_GAP;
  return [
    ...bands(row, windowMs, lengthMs, y),
    ticks('passed', passed, xOf, y),
    ticks('denied', denied, xOf, deniedY),
    ...curve(lastWindow(passed, windowMs), lengthMs, xOf, yOf),
    line('axis', LEFT, zero, RIGHT, zero),
    line('limit', LEFT, yOf(limit), RIGHT, yOf(limit)),
    text('figure bold', xOf(top.ms) + 4, yOf(top.count) - 5, String(top.count)),
    text('tick', LEFT - 8, y + LANE - 2, 'passed', 'end'),
    text('tick', LEFT - 8, deniedY + LANE - 2, 'denied', 'end'),
    text('tick', LEFT - 8, yOf(limit) + 4, `limit ${limit}`, 'end'),
    text('bold', EDGE, y + LANE - 2, label),
    ...TRAFFIC[traffic].notes.map((note, i) => text('tick', EDGE, y + LANE - 2 + LINE * (i + 1), note)),
    text('bold', RIGHT + 14, y + LANE - 2, `${passed.length} of ${passed.length + denied.length} passed`),
    text('soft', RIGHT + 14, y + LANE - 2 + LINE, `at most ${top.count} in ${windowMs / 1_000} s`),
  ];
}

/** The windows of a counter that has some, and its blocks. */
function bands({ windows, blocks }, windowMs, lengthMs, y) {
  const xOf = scaleOf(lengthMs);
  const band = (name, from, to) => {
    const [left, right] = [xOf(from) + 1.5, xOf(Math.min(to, lengthMs)) - 1.5].map(oneDecimal);
    return `<rect class="${name}" x="${left}" y="${y}" width="${oneDecimal(right - left)}" height="${rowHeight}"/>`;
  };
  return [
    ...windows.map((from) => band('window', from, from + windowMs)),
    ...blocks.map(([from, to]) => band('blocked', from, to)),
    ...blocks.map(([from]) => text('tick', xOf(from) + 50, y + rowHeight - CURVE + 4, 'blocked')),
  ];
}

/** A line for each time. Lines that touch become one bar. */
function ticks(name, times, xOf, y) {
  const bars = [];
  for (const left of times.map(xOf)) {
    const last = bars.at(-1);
    if (last !== undefined && left <= last.right) last.right = left + 1;
    else bars.push({ left, right: left + 1 });
  }
  const path = bars.map(
    ({ left, right }) => `M${oneDecimal(left)} ${y}h${oneDecimal(right - left)}v${LANE}H${oneDecimal(left)}z`,
  );
  return path.length === 0 ? '' : `<path class="${name}" d="${path.join('')}"/>`;
}

function curve(steps, lengthMs, xOf, yOf) {
  const shown = steps.filter(({ ms }) => ms <= lengthMs);
  const path = shown.map(({ ms, count }) => `H${oneDecimal(xOf(ms))}V${oneDecimal(yOf(count))}`).join('');
  const start = `M${LEFT} ${oneDecimal(yOf(0))}${path}H${RIGHT}`;
  return [`<path class="area" d="${start}V${oneDecimal(yOf(0))}z"/>`, `<path class="curve" d="${start}"/>`];
}
