import { invalidRule } from '../core/errors.js';
import type { PlannedRule } from '../rules/planned-rule.js';

/** Checks that rules which share their counters, by scope, name and algorithm, also have the same key. */
export class SharedCounters {
  private readonly rulesById = new Map<string, PlannedRule>();

  /** @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` if another rule with these counters has another key */
  check(rule: PlannedRule): void {
    // of one id, each kind has counters of its own
    const id = `${rule.kindName} ${rule.id}`;
    const other = this.rulesById.get(id);
    if (other === undefined) {
      this.rulesById.set(id, rule);
      return;
    }
    if (other === rule) return;
    const difference = differenceOf(rule, other);
    if (difference === undefined) return;
    throw invalidRule(
      `${rule.place}: ${difference}: this rule shares counters with the rule at ${other.place} but uses a different ${difference}; ` +
        `give one of them another name, or both the same ${difference}`,
    );
  }
}

function differenceOf({ key }: PlannedRule, { key: other }: PlannedRule): string | undefined {
  if (!isSameList(key.sources, other.sources)) return 'key';
  return isSameList(key.normalizers, other.normalizers) ? undefined : 'normalize';
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
