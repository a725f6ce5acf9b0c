import type { DeclaredRule } from '../rules/planned-rule.js';
import { looksLikeMilliseconds, windowName } from '../rules/window.js';
import type { Warning } from './warning.js';

/** Windows that are numbers and look like milliseconds, although a number is in seconds. */
export function windowsLikeMilliseconds(rules: readonly DeclaredRule[]): Warning[] {
  const messages = rules.flatMap(({ rule: { window }, place }) => {
    if (!looksLikeMilliseconds(window)) return [];
    const name = windowName(window * 1_000);
    return [
      `${place}: window: a number is in seconds, so ${window} is ${name}. If you mean that, write '${name}'.`,
    ];
  });
  return [...new Set(messages)].map((message) => ({ code: 'FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS', message }));
}
