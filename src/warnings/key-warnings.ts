import { ADDRESS_HEADERS } from '../contexts/forwarded.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import { labelOf } from '../rules/rule-label.js';
import { effectOfMissingValue } from '../rules/value-watch.js';
import type { LimitedHandler } from './limited-handlers.js';
import { joinNames, onePerAdvice, type Warning } from './warning.js';

/** Matches a path to a header in which a proxy sends the address of its client. */
const PROXY_HEADER = new RegExp(`^headers\\.(?:${[...ADDRESS_HEADERS].join('|')})$`, 'i');
const FROM_CLIENT = /^(body|query|params|headers)\./;

/** A key that reads a path, and the handlers that it applies to. */
export interface KeyWithPath {
  /** Where the key is written: `@FreqLimit on SmsController.send, rule "daily"`, `defaultKey of FreqLimitModule`. */
  readonly label: string;
  readonly path: string;
  readonly rule: PlannedRule;
  readonly names: string[];
}

/** The keys that read a path that matches, each once for each effect of a missing value. */
export function keysWithPath(limited: readonly LimitedHandler[], pattern: RegExp): KeyWithPath[] {
  const found = new Map<string, KeyWithPath>();
  for (const { name, rules } of limited) {
    for (const rule of rules) {
      const path = rule.key.paths.find((one) => pattern.test(one));
      if (path === undefined) continue;
      const id = `${keyLabelOf(rule)} ${effectOfMissingValue(rule)}`;
      const known = found.get(id);
      if (known === undefined) found.set(id, { label: keyLabelOf(rule), path, rule, names: [name] });
      else known.names.push(name);
    }
  }
  return [...found.values()];
}

/** Where the key of a rule is written. */
export function keyLabelOf(rule: PlannedRule): string {
  return rule.keyPlace === rule.place ? labelOf(rule) : rule.keyPlace;
}

/** Keys of a header that looks like the client's address. */
export function keysFromProxyHeaders(limited: readonly LimitedHandler[]): Warning[] {
  return onePerAdvice(
    keysWithPath(limited, PROXY_HEADER).map(({ label, path }) => ({
      code: 'FREQ_LIMIT_KEY_FROM_PROXY_HEADER',
      place: label,
      advice:
        `the key reads {${path}}, which a client can set to any value. Use {ip}: it reads such headers only from proxies ` +
        'that the application trusts.',
    })),
  );
}

/** Routes on which a client gets a new counter with each new value that it sends. */
export function keysFromClientOnly(limited: readonly LimitedHandler[]): Warning[] {
  const open = limited.filter(({ rules, kind }) => kind === 'route' && rules.every(isFromClientOnly));
  if (open.length === 0) return [];
  return [
    {
      code: 'FREQ_LIMIT_KEY_FROM_CLIENT',
      message:
        `All limits of ${joinNames(open.map(({ name }) => name))} count by values that the client chooses (body, query, ` +
        'params, headers), and each new value gets a new counter. Add a limit by {ip} or {user.id}.',
    },
  ];
}

function isFromClientOnly({ key }: PlannedRule): boolean {
  return !key.isDynamic && key.paths.length > 0 && key.paths.every((path) => FROM_CLIENT.test(path));
}
