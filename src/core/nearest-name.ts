/** The known name that differs by at most two characters, ignoring case. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const max = Math.min(2, Math.floor(name.length / 3));
  let best: string | undefined;
  let min = max + 1;
  for (const one of known) {
    if (Math.abs(one.length - name.length) > max) continue;
    const steps = distance(name.toLowerCase(), one.toLowerCase());
    if (steps < min) [best, min] = [one, steps];
  }
  return best;
}

/** The number of insertions, deletions, changes and swaps of neighbors between two strings (Damerau-Levenshtein). */
function distance(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const changed = (last[j - 1] ?? 0) + (isSame ? 0 : 1);
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, changed, swapped));
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
