import { quoted } from '../core/errors.js';
import type { HandlerKind } from '../plans/handler-kinds.js';
import type { PlannedHandler } from '../plans/plans.js';
import { templatesFor } from '../rules/key/key-hints.js';
import { onePerAdvice, type PlacedAdvice, type Warning } from './warning.js';

/** Handlers that clients call. A message or an event of another service may well have one counter for all. */
const FROM_CLIENTS: ReadonlySet<HandlerKind | undefined> = new Set([
  'route',
  'gateway',
  'operation',
  'field',
]);
/** Begins a key that is constant on purpose. */
const MEANT = /^all(?::|$)/;

/** Keys that are the same for all clients, without a part that says that this is meant: one warning for each key. */
export function constantKeys(handlers: readonly PlannedHandler[]): Warning[] {
  const found: PlacedAdvice[] = [];
  for (const { plan, kind } of handlers) {
    if (!FROM_CLIENTS.has(kind)) continue;
    for (const { key, keyPlace } of plan.rules) {
      const isConstant = !key.isDynamic && key.paths.length === 0;
      const parts = key.sources.map(String);
      if (!isConstant || parts.some((part) => MEANT.test(part))) continue;
      found.push({ code: 'FREQ_LIMIT_CONSTANT_KEY', place: keyPlace, advice: adviceFor(parts) });
    }
  }
  return onePerAdvice(found);
}

function adviceFor(parts: readonly string[]): string {
  const [constant = '', ...others] = parts;
  const key = others.length === 0 ? quoted(constant) : `[${parts.map(quoted).join(', ')}]`;
  return `the key ${key} is a constant, so all clients share one counter. ${
    others.length === 0 ? insteadOf(constant) : INSTEAD_OF_LIST
  }`;
}

const INSTEAD_OF_LIST =
  "Add what to count by, such as '{ip}' or '{user.id}'. If you mean one counter, begin the list with 'all'.";

function insteadOf(constant: string): string {
  const templates = templatesFor(constant).map(quoted);
  if (templates.length > 0) {
    return `Placeholders are in braces: write ${templates.join(' or ')}. If you mean one counter, write 'all'.`;
  }
  const examples = ['ip', 'user.id'].map((path) => quoted(`${constant}:{${path}}`));
  return `Add what to count by, such as ${examples.join(' or ')}. If you mean one counter, write ${quoted(`all:${constant}`)}.`;
}
