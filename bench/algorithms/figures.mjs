// What a run says about the requests that passed.

/** @returns the steps of the curve: from each time on, how many passed in the last window's length */
export function lastWindow(passed, windowMs) {
  const changes = passed.flatMap((ms) => [
    { ms, by: 1 },
    { ms: ms + windowMs, by: -1 },
  ]);
  // a request counts no more when exactly one length has passed
  changes.sort((a, b) => a.ms - b.ms || a.by - b.by);
  const steps = [];
  let count = 0;
  for (const { ms, by } of changes) {
    count += by;
    if (steps.at(-1)?.ms === ms) steps.at(-1).count = count;
    else steps.push({ ms, count });
  }
  return steps;
}

/** The step with the most requests in one window's length. */
export function worst(passed, windowMs) {
  const none = { ms: 0, count: 0 };
  return lastWindow(passed, windowMs).reduce((most, step) => (step.count > most.count ? step : most), none);
}
