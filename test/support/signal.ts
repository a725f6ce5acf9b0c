/** A promise that is resolved from outside. */
export interface Signal {
  readonly given: Promise<unknown>;
  readonly give: (value?: unknown) => void;
}

export function signal(): Signal {
  let resolve: (value?: unknown) => void = () => undefined;
  const given = new Promise((done) => (resolve = done));
  return { given, give: (value) => resolve(value) };
}
