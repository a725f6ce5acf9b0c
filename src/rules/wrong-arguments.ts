/** Stored in place of a rule if the arguments of a decorator do not make one. It is reported when the rules are planned. */
export class WrongArguments {
  /** @param problem what is wrong, and what to write instead */
  constructor(readonly problem: string) {}
}
