import { declareSkip } from '../rules/metadata.js';
import { classOrMethodDecorator } from './class-or-method.js';

/**
 * Takes rules away from a handler, or from all handlers of a controller: those of these names, or all when no name is
 * given. It reaches the rules at its own place and farther out; a rule written nearer to the handler stays. A name
 * that no rule has stops the application at start-up.
 *
 * @example
 * ```ts
 * @SkipFreqLimit('daily')
 * health() {}
 * ```
 */
export function SkipFreqLimit(...names: string[]): ClassDecorator & MethodDecorator {
  return classOrMethodDecorator('@SkipFreqLimit', (target, handler) => {
    declareSkip(names, target, handler);
  });
}
