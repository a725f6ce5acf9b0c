import { BY_ADDRESS, encodePart, NO_ADDRESS } from '../core/counter-key.js';
import type { LimitedRequest } from '../core/request.js';
import type { PlannedRule } from './planned-rule.js';

/** A request without a value that a rule's key needs, if the rule denies such requests, or with a value that is too long. */
export interface MissingKey {
  readonly rule: PlannedRule;
  /** The value is not missing but too long. */
  readonly isTooLong?: true;
}

/** The text of the key for a request that has no key; `undefined` if the rule skips such requests. */
export function textWithoutKey(rule: PlannedRule, request: LimitedRequest): string | MissingKey | undefined {
  switch (rule.onMissingKey) {
    case 'skip':
      return undefined;
    case 'deny':
      return rule.shadow ? undefined : { rule };
    case 'ip': {
      const { address, isClientFacing } = request;
      // the module's rules are for clients, and all messages of a broker together are not one
      if (address === undefined && !isClientFacing && rule.level === 'app') return undefined;
      return textByAddress(address);
    }
  }
}

/** The text of the key for a request that has no key and is counted by its address. */
export function textByAddress(address: string | undefined): string {
  return address === undefined ? NO_ADDRESS : BY_ADDRESS + encodePart(address);
}
