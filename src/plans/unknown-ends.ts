import { type FreqLimitError, invalidRule } from '../core/errors.js';
import { isRawStream } from '../nest/nest-metadata.js';
import type { PlannedRule } from '../rules/planned-rule.js';
import type { PlannedHandler } from './plans.js';

const MAX_NAMES = 3;
const CONNECTION =
  "holdFor: 'connection' is only possible for messages of a WebSocket gateway; remove holdFor, or move the rule to a gateway";
const RAW_STREAM =
  'concurrency: the end of a raw gRPC stream (@GrpcStreamCall) is not known; use @GrpcStreamMethod, or remove the rule and call ' +
  'FreqLimitService.hold in the handler';
const FIELD =
  'concurrency: the end of a field is not known, because GraphQL does not run interceptors for fields; add ' +
  "'interceptors' to fieldResolverEnhancers in the options of GraphQLModule, or move the rule to the query";

/**
 * Rules with `concurrency` on handlers whose end is not known, so that their slots would never be released: one error for each
 * place and reason.
 * @param handlers those that guards are called for
 * @param fieldEnhancers what GraphQL runs for fields of results
 */
export function unknownEnds(
  handlers: readonly PlannedHandler[],
  fieldEnhancers: readonly unknown[],
): FreqLimitError[] {
  const names = new Map<string, string[]>();
  for (const handler of handlers) {
    if (!handler.plan.hasLeases) continue;
    for (const rule of rulesOf(handler)) {
      const problem = problemOf(rule, handler, fieldEnhancers);
      if (problem === undefined) continue;
      const line = `${rule.place}: ${problem}`;
      names.set(line, [...(names.get(line) ?? []), `${handler.classRef.name}.${handler.name}`]);
    }
  }
  return [...names].map(([line, at]) => invalidRule(`${line} (${listOf(at)})`));
}

function rulesOf({ kind, plan }: PlannedHandler): readonly PlannedRule[] {
  const { rules = [] } = (kind === 'field' ? plan.handlerOnly : plan) ?? {};
  return rules.filter(({ kindName }) => kindName === 'concurrency');
}

function problemOf(
  { holdFor }: PlannedRule,
  { kind, method }: PlannedHandler,
  fieldEnhancers: readonly unknown[],
): string | undefined {
  if (holdFor === 'connection') return kind === 'gateway' ? undefined : CONNECTION;
  if (isRawStream(method)) return RAW_STREAM;
  return kind === 'field' && !fieldEnhancers.includes('interceptors') ? FIELD : undefined;
}

function listOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
