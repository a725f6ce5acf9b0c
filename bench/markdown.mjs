// Tables of the pages, and how they show numbers.

const digitsOf = (value) => (Math.abs(value) < 10 ? 1 : 0);

/** 241.3 as 241, -0.412 as −0.4. */
export function number(value, digits = digitsOf(value)) {
  const text = Math.abs(value).toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** A mean and its 95 % interval, as 14 ± 2; the mean alone, if there were too few values for an interval. */
export function plusMinus({ mean, from, to }, digits = digitsOf(mean)) {
  const half = hasEnds({ from }) ? ` ± ${number((to - from) / 2, digits)}` : '';
  return number(mean, digits) + half;
}

/** The same as 14 (12 to 16). */
export function withInterval({ mean, from, to }, digits = digitsOf(mean)) {
  const ends = hasEnds({ from }) ? ` (${number(from, digits)} to ${number(to, digits)})` : '';
  return number(mean, digits) + ends;
}

/** Three digits of a ratio or of a few µs; absent where nothing was measured. */
export function threeDigits(value) {
  return isNumber(value) ? number(value, value < 10 ? 2 : value < 100 ? 1 : 0) : undefined;
}

export function threeDigitsWithInterval({ mean, from, to }) {
  const ends = hasEnds({ from }) ? ` (${threeDigits(from)} to ${threeDigits(to)})` : '';
  return threeDigits(mean) + ends;
}

const hasEnds = ({ from }) => from !== null && from !== undefined;

export function whole(value) {
  return isNumber(value) ? number(value, 0) : undefined;
}

/** Two digits below 10, and whole numbers above. */
export function twoDigits(value) {
  if (!isNumber(value)) return undefined;
  return Math.abs(value) < 10 ? String(Number(value.toPrecision(2))) : whole(value);
}

function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

/** A table of a page; an absent cell is empty. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell ?? '').join(' | ')} |`.replaceAll('  ', ' ');
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
