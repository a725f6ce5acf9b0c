/** A rule as messages show it: `@FreqLimit on SmsController.send, rule "daily"`. */
export function labelOf({ place, name }: { readonly place: string; readonly name: string }): string {
  return `${place}, rule "${name}"`;
}
