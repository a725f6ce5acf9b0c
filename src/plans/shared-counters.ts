import { invalidRule } from '../core/errors.js';
import type { PlannedRule } from '../rules/planned-rule.js';

/**
 * Checks that rules which share their counters, by scope, name and algorithm, also have the same key, the same block, and the
 * same refill of a token bucket. Their limits and bursts may differ.
 */
export class SharedCounters {
  private readonly rulesById = new Map<string, PlannedRule>();

  /** @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` if another rule uses these counters in another way */
  check(rule: PlannedRule): void {
    // of one id, each kind has counters of its own
    const id = `${rule.kindName} ${rule.id}`;
    const other = this.rulesById.get(id);
    // a shadow rule begins no block, so it says nothing about that of later rules
    if (other === undefined || other.shadow) this.rulesById.set(id, rule);
    if (other === undefined || other === rule) return;
    const difference = differenceOf(rule, other);
    if (difference === undefined) return;
    throw invalidRule(
      `${rule.place}: ${difference}: this rule shares counters with the rule at ${other.place} but uses a different ${difference}; ` +
        `give one of them another name, or both the same ${difference}`,
    );
  }
}

/** The option that differs, and may not. */
function differenceOf(rule: PlannedRule, other: PlannedRule): string | undefined {
  if (!isSameList(rule.key.sources, other.key.sources)) return 'key';
  if (!isSameList(rule.key.normalizers, other.key.normalizers)) return 'normalize';
  return differenceOfBlocks(rule, other) ?? differenceOfRefill(rule, other);
}

/** A rule would shorten the longer blocks of another one, and one without blocks would be a way around them. */
function differenceOfBlocks(rule: PlannedRule, other: PlannedRule): string | undefined {
  if (rule.shadow || other.shadow) return undefined;
  if (!isSameList(rule.block?.stepsMs ?? [], other.block?.stepsMs ?? [])) return 'blockFor';
  return rule.block?.forgiveAfterMs === other.block?.forgiveAfterMs ? undefined : 'forgiveAfter';
}

/** What a bucket contains is computed by its refill: each rule would see other units in it. */
function differenceOfRefill({ kindName, limit }: PlannedRule, other: PlannedRule): string | undefined {
  const areConstant = typeof limit === 'number' && typeof other.limit === 'number';
  return kindName === 'token-bucket' && areConstant && limit !== other.limit ? 'limit' : undefined;
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
