import type { PlannedHandler } from '../plans/plans.js';
import { lastStep } from '../rules/block.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import { unitsOfBucket } from '../rules/rule-kind.js';
import { windowName } from '../rules/window.js';
import { onePerAdvice, type PlacedAdvice, type Warning } from './warning.js';

/** Blocks that end before a client without a block would have all its units again: one warning for each advice. */
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
  if (rule.block === undefined || fullAfterMs === undefined) return undefined;
  const lastMs = lastStep(rule.block.stepsMs);
  if (lastMs >= fullAfterMs) return undefined;
  const [last, full] = [windowName(lastMs), windowName(fullAfterMs)];
  return (
    `blockFor: the last block of ${last} is shorter than the ${full} after which a client without a block has all its ` +
    `units again. A client has them after its block too, so blocks let more requests pass. Write at least '${full}'.`
  );
}

/** When a client that has used up its units has them all again; `undefined` if a function decides this. */
function timeToFull({ window, kindName, limit, burst }: PlannedRule): number | undefined {
  if (typeof window !== 'number') return undefined;
  if (kindName !== 'token-bucket') return window;
  if (typeof limit !== 'number' || limit === 0 || typeof burst === 'function') return undefined;
  return Math.ceil((unitsOfBucket(limit, burst) * window) / limit);
}
