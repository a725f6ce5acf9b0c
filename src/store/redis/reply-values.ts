/** An integer of a reply. Large ones come as strings, and with the client option `stringNumbers` all of them do. */
export function toInteger(value: unknown): number {
  const number = typeof value === 'string' && isIntegerText(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) throw new UnexpectedReplyError();
  return number;
}

export function isIntegerText(text: string): boolean {
  return /^-?\d+$/.test(text);
}

/** A reply that the scripts never return. */
export class UnexpectedReplyError extends TypeError {
  constructor() {
    super(
      'it is not a reply of the script; check the server, and all proxies and client options that change replies',
    );
  }
}
