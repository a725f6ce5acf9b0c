import { isFreqLimitGuard } from '../nest/guards.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import { labelOf } from '../rules/rule-label.js';
import { effectOfMissingValue } from '../rules/value-watch.js';
import type { LimitedHandler } from './limited-handlers.js';
import { joinNames, type Warning } from './warning.js';

/** A parameter that a rule reads, and the routes of the rule. */
interface ReadParam {
  readonly label: string;
  readonly path: string;
  readonly rules: PlannedRule[];
  readonly names: string[];
  /** Whether a request may have the parameter. */
  isPossible: boolean;
}

const PARAMS = /^params\.([^.]+)/;
/** A wildcard or a pattern: its parameters may have any name. */
const PATTERN = /[*(]/;

/**
 * Rules by a parameter that no path of their routes has: a request never has it, so its first requests need not be watched.
 * @param prefixes the paths that Nest puts in front of routes
 */
export function paramsNotInPaths(
  limited: readonly LimitedHandler[],
  prefixes: readonly unknown[],
): Warning[] {
  const impossible = readParams(limited, prefixes).filter(({ isPossible }) => !isPossible);
  return impossible.flatMap(({ label, path, rules, names }) => {
    for (const rule of rules) rule.valueWatch = undefined;
    const [first] = rules;
    if (first === undefined) return [];
    return [
      {
        code: 'FREQ_LIMIT_VALUE_ALWAYS_MISSING',
        message:
          `${label}: the key reads {${path}}, but the path of ${joinNames(names)} has no such parameter. Requests there are ` +
          `${effectOfMissingValue(first)}. Use the name of the parameter in the path.`,
      } as const,
    ];
  });
}

function readParams(limited: readonly LimitedHandler[], prefixes: readonly unknown[]): ReadParam[] {
  const found = new Map<string, ReadParam>();
  for (const handler of limited) {
    if (handler.kind !== 'route') continue;
    for (const rule of handler.rules) {
      for (const path of rule.key.paths) {
        const [, name] = PARAMS.exec(path) ?? [];
        if (name === undefined) continue;
        const label = labelOf(rule);
        const param = found.get(label + path) ?? { label, path, rules: [], names: [], isPossible: false };
        found.set(label + path, param);
        param.rules.push(rule);
        param.names.push(handler.name);
        param.isPossible ||= mayHave(handler, name, prefixes);
      }
    }
  }
  return [...found.values()];
}

/** Errs on the safe side: a guard before ours may set any parameter, and any text may be a part of a pattern. */
function mayHave({ guards, paths }: LimitedHandler, name: string, prefixes: readonly unknown[]): boolean {
  if (guards.findIndex(isFreqLimitGuard) !== 0) return true;
  return [...paths, ...prefixes].some(
    (path) => typeof path !== 'string' || path.includes(name) || PATTERN.test(path),
  );
}
