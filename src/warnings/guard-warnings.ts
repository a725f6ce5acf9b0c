import { enforcesLimits, isFreqLimitGuard } from '../nest/guards.js';
import { effectOfMissingValue } from '../rules/value-watch.js';
import { keysWithPath, type KeyWithPath } from './key-warnings.js';
import type { LimitedHandler } from './limited-handlers.js';
import { joinNames, type Warning } from './warning.js';

const USER = /^user\./;

/** Handlers with limits and without our guard. */
export function unprotectedHandlers(limited: readonly LimitedHandler[]): Warning[] {
  const open = limited.filter(({ guards }) => !guards.some(enforcesLimits));
  if (open.length === 0) return [];
  return [
    {
      code: 'FREQ_LIMIT_UNPROTECTED_HANDLER',
      message:
        `No FreqLimitGuard protects ${joinNames(open.map(({ name }) => name))}, so the limits there have no effect. Add ` +
        '@UseGuards(FreqLimitGuard), remove globalGuard: false, or add @SkipFreqLimit() if you want no limit there.',
    },
  ];
}

/** Keys by user on routes where our guard is the first one: one warning for each effect. */
export function usersNotSet(limited: readonly LimitedHandler[]): Warning[] {
  const early = limited.filter(
    ({ guards, kind }) => kind === 'route' && guards.findIndex(isFreqLimitGuard) === 0,
  );
  const keys = keysWithPath(early, USER);
  const effects = new Set(keys.map(({ rule }) => effectOfMissingValue(rule)));
  return [...effects].map((effect) =>
    userNotSet(
      keys.filter(({ rule }) => effectOfMissingValue(rule) === effect),
      effect,
    ),
  );
}

function userNotSet(keys: readonly KeyWithPath[], effect: string): Warning {
  const paths = new Set(keys.map(({ path }) => `{${path}}`));
  const handlers = new Set(keys.flatMap(({ names }) => names));
  return {
    code: 'FREQ_LIMIT_USER_NOT_SET',
    message:
      `${joinNames(keys.map(({ label }) => label))}: the key reads ${[...paths].join(' or ')}, but no guard runs before ` +
      `FreqLimitGuard at ${joinNames([...handlers])}. Unless middleware sets request.user, a request there is ${effect}. ` +
      'Register the guard that sets it as APP_GUARD in a module that is imported before FreqLimitModule, or set ' +
      'globalGuard: false and use @UseGuards(AuthGuard, FreqLimitGuard).',
  };
}
