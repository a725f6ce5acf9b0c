export function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return NaN;
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The median of the means of all pairs (Hodges and Lehmann): ignores a few wild values, else as exact as the mean. */
export function middleOf(values) {
  return median(values.flatMap((a, i) => values.slice(i).map((b) => (a + b) / 2)));
}

export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** A number with three significant digits. */
export function short(value) {
  return Number.isFinite(value) ? Number(value.toPrecision(3)) : null;
}

/** Two-sided quantiles of Student's t, by degrees of freedom from 1 on; with more than these, the last is used. */
const T = {
  95: [
    12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
    2.12, 2.11, 2.101, 2.093, 2.086,
  ],
  99: [
    63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.25, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
    2.921, 2.898, 2.878, 2.861, 2.845,
  ],
};

/** The mean of independent values, and its confidence interval at a level of 95 or 99 %. */
export function interval(values, level = 95) {
  const n = values.length;
  const average = mean(values);
  if (n < 2) return { mean: average, from: -Infinity, to: Infinity };
  const variance = values.reduce((sum, value) => sum + (value - average) ** 2, 0) / (n - 1);
  const half = (T[level][n - 2] ?? T[level].at(-1)) * Math.sqrt(variance / n);
  return { mean: average, from: average - half, to: average + half };
}

/**
 * A statistic of independent blocks, and its 95 % interval by the jackknife. For a mean this is the interval above; a ratio
 * of means is more stable than the mean of the blocks' ratios.
 */
export function jackknife(blocks, statistic) {
  const n = blocks.length;
  const whole = statistic(blocks);
  if (n < 2) return { mean: whole, from: -Infinity, to: Infinity };
  const pseudo = blocks.map(
    (_, i) => n * whole - (n - 1) * statistic(blocks.filter((_other, other) => other !== i)),
  );
  const { mean: average, from, to } = interval(pseudo);
  return { mean: whole, from: whole + from - average, to: whole + to - average };
}
