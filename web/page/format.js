// Numbers in words.

const MINUS = "\u2212";

/** To `digits` significant digits, with a power of ten where that is shorter. */
export function number(value, digits = 4) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  if (value === 0) return "0";
  const size = Math.abs(value);
  const plain = size >= 1e-3 && size < 10 ** Math.max(digits, 5);
  const text = plain ? String(Number(value.toPrecision(digits))) : trimmed(value.toExponential(digits - 2));
  return text.replace(/-/g, MINUS).replace("e+", "e");
}

function trimmed(exponential) {
  return exponential.replace(/\.?0+e/, "e");
}

/** A time in microseconds. */
export function microseconds(value) {
  return value >= 100 ? grouped(value) : value.toPrecision(3);
}

export function gigabytes(bytes, us) {
  const value = bytes / us / 1e3;
  return value >= 100 ? grouped(value) : value.toPrecision(3);
}

export function percent(share) {
  return `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)}\u202f%`;
}

export function bytes(value) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))}\u202f${unit}`;
  }
  return `${value}\u202fB`;
}

/** A whole number, its thousands apart. */
export function grouped(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function counted(count, one, many) {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

const BELOW = [..."₀₁₂₃₄₅₆₇₈₉"];

/** `x₃` of ("x", 3). */
export function indexed(letter, index) {
  return letter + [...String(index)].map((digit) => BELOW[digit]).join("");
}
