const SECOND = { seconds: 1, word: 'second', short: 's' };
const UNITS = [
  { seconds: 86_400, word: 'day', short: 'd' },
  { seconds: 3_600, word: 'hour', short: 'h' },
  { seconds: 60, word: 'minute', short: 'min' },
  SECOND,
];

type Unit = typeof SECOND;

/**
 * Writes a duration as people say it, in at most two units: `15 minutes`, `1 hour 5 minutes`. Rounded up, so that a client
 * that waits this long waits long enough.
 * @param seconds a whole number of at least 1
 */
export function durationInWords(seconds: number): string {
  return textOf(seconds, (count, { word }) => `${count} ${word}${count === 1 ? '' : 's'}`);
}

/** Writes a duration for a log line: `15 min`, `16 h 40 min`, `1 min 30 s`, `500 ms`. Rounded up like words. */
export function shortDuration(ms: number): string {
  if (ms < 1_000) return `${Math.ceil(ms)} ms`;
  return textOf(Math.ceil(ms / 1_000), (count, { short }) => `${count} ${short}`);
}

function textOf(seconds: number, write: (count: number, unit: Unit) => string): string {
  const [large, small] = unitsFor(seconds);
  // rounding up may fill the larger unit: 59 minutes and 59.5 seconds are an hour
  const rounded = Math.ceil(seconds / small.seconds) * small.seconds;
  if (unitsFor(rounded)[0] !== large) return textOf(rounded, write);
  const count = Math.floor(rounded / large.seconds);
  const rest = (rounded % large.seconds) / small.seconds;
  return rest === 0 ? write(count, large) : `${write(count, large)} ${write(rest, small)}`;
}

/** The largest unit that fits, and the next smaller one. */
function unitsFor(seconds: number): readonly [large: Unit, small: Unit] {
  const index = UNITS.findIndex((unit) => seconds >= unit.seconds);
  return [UNITS[index] ?? SECOND, UNITS[index + 1] ?? SECOND];
}
