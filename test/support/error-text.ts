import { inspect } from 'node:util';

/** Everything that an error reporter could find in an error: its properties too, and the errors in them. */
export function errorText(error: unknown, seen = new Set<unknown>()): string {
  if (typeof error !== 'object' || error === null || seen.has(error)) return String(error);
  seen.add(error);
  const properties = Object.getOwnPropertyNames(error).map((name) =>
    errorText((error as Record<string, unknown>)[name], seen),
  );
  return [inspect(error, { depth: 9, showHidden: true }), ...properties].join('\n');
}
