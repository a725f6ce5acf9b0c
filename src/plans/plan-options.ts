import type { ContextAdapter } from '../contexts/context-adapter.js';
import type { NamedRules } from '../rules/named-rules.js';
import type { RuleDefaults } from '../rules/planned-rule.js';
import type { AnyRule } from '../rules/rule.js';

/** The module's options that plans are made of. */
export interface PlanOptions extends RuleDefaults {
  /** The rules for every handler, or their names in `namedRules`. */
  readonly rules: readonly (AnyRule | string)[];
  readonly namedRules: NamedRules;
  readonly contextAdapters: Readonly<Record<string, Pick<ContextAdapter, 'handlerMetadata'>>>;
}
