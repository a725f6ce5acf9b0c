import { boundText, encodePart, encodeParts, PART_END } from '../../core/counter-key.js';

/** A string, number, bigint or boolean as a string. Returns `undefined` for a value that cannot tell clients apart. */
export function scalarText(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value === '' ? undefined : value;
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined;
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return undefined;
  }
}

/** The text of one value. Returns `undefined` if it is missing. Needs no array. */
export function textOf(value: unknown): string | undefined {
  return textWithLast('', value);
}

/** The text of several values. Returns `undefined` if one of them is missing, or if there are none. */
export function textOfAll(values: readonly unknown[]): string | undefined {
  const texts = values.map(scalarText);
  if (texts.length === 0 || texts.includes(undefined)) return undefined;
  return encodeParts(texts as string[]);
}

/** The text of the most common template: a constant, already encoded, and then one value. Needs no array. */
export function textWithLast(constant: string, value: unknown): string | undefined {
  const text = scalarText(value);
  return text === undefined ? undefined : boundText(constant + encodePart(text));
}

/**
 * Makes the text of a template from its values.
 * @param pieces the constants of the template, and `undefined` for each placeholder
 */
export function templateText(
  pieces: readonly (string | undefined)[],
): (values: readonly unknown[]) => string | undefined {
  const encoded = pieces.map((constant) => (constant === undefined ? undefined : encodePart(constant)));
  return (values) => {
    let text = '';
    let next = 0;
    for (const [i, constant] of encoded.entries()) {
      if (constant !== undefined) {
        text += constant;
        continue;
      }
      const value = scalarText(values[next++]);
      if (value === undefined) return undefined;
      // PART_END keeps a value and the next piece apart, whatever characters the value contains
      text += i === encoded.length - 1 ? encodePart(value) : encodePart(value) + PART_END;
    }
    return boundText(text);
  };
}

/** Joins the texts of an array of keys. Returns `undefined` if one of them is missing. */
export function joinTexts(texts: readonly (string | undefined)[]): string | undefined {
  // no key has two PART_END in a row, so two of them only separate keys
  return texts.includes(undefined) ? undefined : boundText(texts.join(PART_END + PART_END));
}
