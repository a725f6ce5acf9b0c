// shared by two copies of this package: the decorator may belong to one and the module to the other
const BRAND = Symbol.for('nestjs-freq-limit:wrong-arguments');

/** Stored in place of a rule if the arguments of a decorator do not make one. It is reported when the rules are planned. */
export class WrongArguments {
  readonly [BRAND] = true;

  /** @param problem what is wrong, and what to write instead */
  constructor(readonly problem: string) {}
}

export function isWrongArguments(value: unknown): value is WrongArguments {
  return BRAND in (Object(value) as object);
}
