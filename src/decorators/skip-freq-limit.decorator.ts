import { declareSkip } from '../rules/metadata.js';
import { classOrMethodDecorator } from './class-or-method.js';
import { rejectWithoutParentheses } from './decorated-place.js';

/**
 * Removes rules from a handler, or from all handlers of a controller: `@SkipFreqLimit()` removes all rules,
 * `@SkipFreqLimit('daily')` one. It removes rules of the same place and of outer levels (the module, a parent class, the
 * controller); rules closer to the handler still apply. An unknown name stops the application at start-up.
 *
 * @param names names of the rules to remove; without names, all rules
 */
export function SkipFreqLimit(...names: string[]): ClassDecorator & MethodDecorator {
  rejectWithoutParentheses('@SkipFreqLimit', '@SkipFreqLimit()', names);
  return classOrMethodDecorator('@SkipFreqLimit', (target, handler) => {
    declareSkip(names, target, handler);
  });
}
