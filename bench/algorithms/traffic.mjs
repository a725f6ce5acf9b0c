// The traffic of the pictures in docs/algorithms.md, and the counters that decide it.

export const WINDOW_MS = 2_000;
export const LIMIT = 20;
/** A small bucket, to compare with the default, which is the limit. */
export const SMALL_BURST = 5;
export const BLOCK_MS = 3_000;
/** How long the run takes, in windows. */
export const WINDOWS = 3.5;

const STEADY_MS = 115;
const FLOOD = 200;
const FLOOD_STARTS = 0.5;

/** Each client sends at these times, in windows. Window 1 of the calendar starts at 0. */
export const TRAFFIC = {
  steady: {
    label: 'Steady',
    notes: [`1 every ${STEADY_MS} ms`],
    times: every(STEADY_MS / WINDOW_MS, 0.002, WINDOWS),
  },
  edge: {
    label: 'Edge burst',
    notes: [`${LIMIT} just before ${WINDOW_MS / 1_000} s,`, `${LIMIT} just after it`],
    // the first request opens the fixed window
    times: [0.002, ...spread(LIMIT - 1, 0.955, 0.985), ...spread(LIMIT, 1.015, 1.045)],
  },
  flood: {
    label: 'Flood',
    notes: [`${FLOOD} in each ${WINDOW_MS / 1_000} s`],
    // not at the ends of sub-windows, where a millisecond would decide
    times: every(1 / FLOOD, FLOOD_STARTS + 0.001, WINDOWS),
  },
};

const sliding = () => ({ kind: { type: 'sliding-window' } });
const bucket = (burst) => () => ({ kind: { type: 'token-bucket', burst } });
const blocks = { stepsMs: [BLOCK_MS], forgiveAfterMs: 86_400_000 };

/** What a check has, by the kind of counter. A calendar of two seconds is not an option: its periods are computed here. */
export const KINDS = {
  'fixed-window': () => ({ kind: { type: 'fixed-window' } }),
  'sliding-window': sliding,
  'token-bucket': bucket(LIMIT),
  'small-bucket': bucket(SMALL_BURST),
  calendar: (nowMs) => ({ kind: { type: 'calendar', ...periodAt(nowMs) } }),
  block: () => ({ ...sliding(), block: blocks }),
};

function periodAt(nowMs) {
  const startsAtMs = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS;
  return { startsAtMs, endsAtMs: startsAtMs + WINDOW_MS, nextEndsAtMs: startsAtMs + 2 * WINDOW_MS };
}

function every(step, from, to) {
  return spread(Math.ceil((to - from) / step - 1e-9), from, to, step);
}

/** So many times, evenly from the first one. */
function spread(count, from, to, step = (to - from) / count) {
  return Array.from({ length: count }, (_, i) => from + i * step);
}
