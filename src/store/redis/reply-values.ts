/** An integer of a reply. Large ones come as strings, and with the client option `stringNumbers` all of them do. */
export function toInteger(value: unknown): number {
  const number = typeof value === 'string' && isIntegerText(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) throw unexpectedReply();
  return number;
}

export function isIntegerText(text: string): boolean {
  return /^-?\d+$/.test(text);
}

export function unexpectedReply(): TypeError {
  return new TypeError(
    'Redis returned a reply that the script never gives: does another script run in its place?',
  );
}
