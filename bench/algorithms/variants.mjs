// The kinds of counters and the states that are measured, and their requests.
import { ROOMY } from '../apps/decorate.mjs';

const HOUR = 3600;
// between two turns of a variant is at least this, and less than 16 times as much
export const SUB_WINDOW_SECONDS = 0.5;

/** Checks of a call, calls of a turn, and how many of them are in flight. */
export const SIZES = [
  { checks: 1, calls: 6000, inFlight: 128 },
  { checks: 5, calls: 2400, inFlight: 64 },
  { checks: 32, calls: 500, inFlight: 16 },
];

export const MINIMAL = 'minimal script';
export const FIXED = 'fixed window';
const SLIDING = 'sliding window';
const BUCKET = 'token bucket';

const window = { window: HOUR, limit: ROOMY };
const full = { limit: 1 };

/** By kind, its rule; `denied` is what is different if the counter is full. */
const KINDS = {
  [FIXED]: { rule: window, denied: full },
  [SLIDING]: { rule: { ...window, algorithm: 'sliding-window' }, denied: full },
  // it does not refill during a run
  [BUCKET]: {
    rule: { window: HOUR, limit: 100, burst: ROOMY, algorithm: 'token-bucket' },
    denied: { limit: 1, burst: 1 },
  },
  calendar: { rule: { ...window, window: { calendar: 'month' } }, denied: full },
  [`${FIXED} with blockFor`]: { rule: { ...window, blockFor: 2 * HOUR }, denied: full },
};

const ruleOf = ({ rule, denied }, state) => (state === 'denied' ? { ...rule, ...denied } : rule);

const variantsIn = (state) =>
  Object.entries(KINDS).map(([kind, one]) => [`${kind}, ${state}`, { state, rules: [ruleOf(one, state)] }]);
const oneOfEach = (state) => [
  `one of each, ${state}`,
  { state, rules: Object.values(KINDS).map((one) => ruleOf(one, state)) },
];
const shortWindow = { ...KINDS[SLIDING].rule, window: 16 * SUB_WINDOW_SECONDS };

/**
 * By name: the state of the counters, and the rules, of which each check of a request has the next one. The counters are open
 * ("passes"), last charged in an earlier sub-window ("next"), new, or full ("denied").
 */
export const VARIANTS = Object.fromEntries([
  // its counters
  [MINIMAL, { state: 'passes', rules: [KINDS[FIXED].rule] }],
  ...variantsIn('passes'),
  oneOfEach('passes'),
  [`${SLIDING}, next`, { state: 'next', rules: [shortWindow] }],
  ...variantsIn('new'),
  ...variantsIn('denied'),
  oneOfEach('denied'),
]);

/** Those that such a call has enough checks for. */
export function variantsOf({ checks }) {
  return Object.entries(VARIANTS)
    .map(([name, variant]) => ({ name, ...variant }))
    .filter(({ rules }) => rules.length <= checks);
}

/** Each request has counters of its own. */
export function requestsOf({ name: variant, rules }, { calls, checks }) {
  // all names are as long, because the length of a key has a cost
  const name = `r${Object.keys(VARIANTS).indexOf(variant) + 10}`;
  const checkOf = (n, i) => ({ name, key: `client-${n}-${i}`, ...rules[i % rules.length] });
  return Array.from({ length: calls }, (_, n) =>
    Array.from({ length: checks }, (_check, i) => checkOf(n, i)),
  );
}
