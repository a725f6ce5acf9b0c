import { isFreqLimitGuard } from '../nest/guards.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import { labelOf } from '../rules/rule-label.js';
import { effectOfMissingValue } from '../rules/value-watch.js';
import { keyLabelOf } from './key-warnings.js';
import type { LimitedHandler } from './limited-handlers.js';
import { joinNames, type Warning } from './warning.js';

/** A parameter that a rule reads, and the routes of the rule. */
interface ReadParam {
  /** Where the key is written. */
  readonly label: string;
  readonly path: string;
  readonly effect: string;
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
 * One warning for each parameter and effect.
 * @param prefixes the paths that Nest puts in front of routes
 */
export function paramsNotInPaths(
  limited: readonly LimitedHandler[],
  prefixes: readonly unknown[],
): Warning[] {
  const impossible = readParams(limited, prefixes).filter(({ isPossible }) => !isPossible);
  const groups = new Map<string, ReadParam[]>();
  for (const param of impossible) {
    for (const rule of param.rules) rule.valueWatch = undefined;
    const id = `${param.path} ${param.effect}`;
    groups.set(id, [...(groups.get(id) ?? []), param]);
  }
  return [...groups.values()].flatMap(toWarning);
}

function toWarning(params: readonly ReadParam[]): Warning[] {
  const [first] = params;
  if (first === undefined) return [];
  const labels = new Set(params.map(({ label }) => label));
  const handlers = new Set(params.flatMap(({ names }) => names));
  return [
    {
      code: 'FREQ_LIMIT_VALUE_ALWAYS_MISSING',
      message:
        `${joinNames([...labels])}: the key reads {${first.path}}, but the path of ${joinNames([...handlers])} has no such ` +
        `parameter. Requests there are ${first.effect}. Use the name of the parameter in the path.`,
    },
  ];
}

function readParams(limited: readonly LimitedHandler[], prefixes: readonly unknown[]): ReadParam[] {
  const found = new Map<string, ReadParam>();
  for (const handler of limited) {
    if (handler.kind !== 'route') continue;
    for (const rule of handler.rules) {
      for (const path of rule.key.paths) {
        const [, name] = PARAMS.exec(path) ?? [];
        if (name === undefined) continue;
        const id = `${labelOf(rule)} ${path}`;
        const param = found.get(id) ?? newParam(rule, path);
        found.set(id, param);
        param.rules.push(rule);
        param.names.push(handler.name);
        param.isPossible ||= mayHave(handler, name, prefixes);
      }
    }
  }
  return [...found.values()];
}

function newParam(rule: PlannedRule, path: string): ReadParam {
  return {
    label: keyLabelOf(rule),
    path,
    effect: effectOfMissingValue(rule),
    rules: [],
    names: [],
    isPossible: false,
  };
}

/** Errs on the safe side: a guard before ours may set any parameter, and any text may be a part of a pattern. */
function mayHave({ guards, paths }: LimitedHandler, name: string, prefixes: readonly unknown[]): boolean {
  if (guards.findIndex(isFreqLimitGuard) !== 0) return true;
  return [...paths, ...prefixes].some(
    (path) => typeof path !== 'string' || path.includes(name) || PATTERN.test(path),
  );
}
