// The dtypes as the library has them: what they hold, how a number is rounded to them, how far apart neighbours are.

export const DTYPES = {
  f32: { bytes: 4, fraction: 23, least: -126, largest: 3.4028234663852886e38 },
  f16: { bytes: 2, fraction: 10, least: -14, largest: 65504 },
  bf16: { bytes: 2, fraction: 7, least: -126, largest: 3.3895313892515355e38 },
};

/** The distance between neighbours of `dtype` at the magnitude of `value`. */
export function ulp(value, dtype) {
  const { fraction, least } = DTYPES[dtype];
  return 2 ** (Math.max(exponent(Math.abs(value)), least) - fraction);
}

/** `value` rounded once to `dtype`: to nearest, ties to even, infinite beyond the range. */
export function round(value, dtype) {
  if (dtype === "f32") return Math.fround(value);
  if (!Number.isFinite(value) || value === 0) return value;
  const step = ulp(value, dtype);
  // Exact: a step is a power of two.
  const steps = Math.abs(value) / step;
  const below = Math.floor(steps);
  const rest = steps - below;
  const magnitude = (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below) * step;
  return Math.sign(value) * (magnitude > DTYPES[dtype].largest ? Infinity : magnitude);
}

function exponent(magnitude) {
  if (magnitude === 0) return -Infinity;
  const guess = Math.floor(Math.log2(magnitude));
  if (2 ** guess > magnitude) return guess - 1;
  return 2 ** (guess + 1) <= magnitude ? guess + 1 : guess;
}
