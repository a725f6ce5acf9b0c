/** An integer of a reply. */
export function toInteger(value: number | string | undefined): number {
  if (typeof value !== 'number') throw new UnexpectedReplyError();
  return value;
}

/** A reply that the scripts never return. */
export class UnexpectedReplyError extends TypeError {
  constructor() {
    super(
      'it is not a reply of the script; check the server, and all proxies and client options that change replies',
    );
  }
}
