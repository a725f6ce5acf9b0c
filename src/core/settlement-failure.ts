/** What the log says about charges that could not be settled. */
export function settlementFailure(charges: readonly { readonly cost: number }[]): string {
  return charges.every(({ cost }) => cost === 0)
    ? 'Refund failed; the request stays counted'
    : 'Settlement failed; the request stays charged as it was';
}
