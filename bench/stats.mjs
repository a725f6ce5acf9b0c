export function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return NaN;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Three figures that matter, as a number. */
export function short(value) {
  return Number.isFinite(value) ? Number(value.toPrecision(3)) : null;
}

/** Two-sided 95 % quantiles of Student's t, by degrees of freedom. */
const T = [
  NaN,
  12.71,
  4.303,
  3.182,
  2.776,
  2.571,
  2.447,
  2.365,
  2.306,
  2.262,
  2.228,
  2.201,
  2.179,
  2.16,
  2.145,
  2.131,
];

/** The mean of independent values, and its 95 % confidence interval. */
export function interval(values) {
  const n = values.length;
  const middle = mean(values);
  if (n < 2) return { mean: middle, from: -Infinity, to: Infinity };
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (n - 1);
  const half = (T[n - 1] ?? 2) * Math.sqrt(variance / n);
  return { mean: middle, from: middle - half, to: middle + half };
}
