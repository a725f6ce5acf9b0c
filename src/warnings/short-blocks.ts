import type { PlannedHandler } from '../plans/plans.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import { unitsOfBucket } from '../rules/rule-kind.js';
import { windowName } from '../rules/window.js';
import { onePerAdvice, type PlacedAdvice, type Warning } from './warning.js';

/** Blocks that can last longer than written, because a client must have all its units again: one warning for each advice. */
export function shortBlocks(handlers: readonly PlannedHandler[]): Warning[] {
  const found = handlers
    .flatMap(({ plan }) => plan.rules)
    .flatMap((rule): PlacedAdvice[] => {
      const advice = adviceFor(rule);
      return advice === undefined ? [] : [{ code: 'FREQ_LIMIT_SHORT_BLOCK', place: rule.place, advice }];
    });
  return onePerAdvice(found);
}

function adviceFor(rule: PlannedRule): string | undefined {
  const fullAfterMs = timeToFull(rule);
  const [firstMs] = rule.block?.stepsMs ?? [];
  if (firstMs === undefined || fullAfterMs === undefined || firstMs >= fullAfterMs) return undefined;
  const [first, full] = [windowName(firstMs), windowName(fullAfterMs)];
  return (
    `blockFor: ${first} is shorter than the ${full} in which a client gets all its units back. A block lasts at least until ` +
    `then, so it can be longer than ${first}. Write at least '${full}', or remove blockFor: without a block, a client waits ` +
    'until its request would pass.'
  );
}

/** When a client that has used up its units has them all again; `undefined` if a function decides this. */
function timeToFull({ window, kindName, limit, burst }: PlannedRule): number | undefined {
  if (typeof window !== 'number') return undefined;
  if (kindName !== 'token-bucket') return window;
  if (typeof limit !== 'number' || limit === 0 || typeof burst === 'function') return undefined;
  return Math.ceil((unitsOfBucket(limit, burst) * window) / limit);
}
