// What is worth saying of a row, in sentences.

import { number, percent } from "./format.js";
import { DTYPES, round } from "./numbers.js";

/** Below this sum of squares, or where it overflows f32, a row is scaled by a power of two first. */
const LEAST_SUM = 2 ** -64;
const LARGEST_F32 = DTYPES.f32.largest;

/** For each square, what it would be in `dtype` where that does not hold it. */
export function squareMarks(squares, dtype) {
  return squares.map((square) => {
    if (!Number.isFinite(round(square, dtype))) return `∞ in ${dtype}`;
    return square !== 0 && round(square, dtype) === 0 ? `0 in ${dtype}` : null;
  });
}

/** Remarks on a row and its two norms. */
export function remarks({ dtype, eps, x, weight }, rms, layer) {
  const said = [];
  const total = rms.meanSquare * x.length;
  const largest = Math.max(...rms.squares);
  if (total === 0) {
    said.push(`A row of zeros stays zero${eps === 0 ? ", with eps 0 too: the library gives 0 for 0/0" : ": eps keeps the root above 0"}.`);
    return said;
  }
  const marks = squareMarks(rms.squares, dtype);
  const count = (text) => marks.filter((mark) => mark?.startsWith(text)).length;
  if (dtype === "f16" && count("∞") > 0) {
    said.push(`${squares(count("∞"))} beyond 65504 and would be infinite in f16. The kernel reads f16 and squares and sums in f32: nothing overflows.`);
  }
  if (dtype === "f16" && count("0") > 0) {
    said.push(`${squares(count("0"))} too small for f16 and would be 0 there. The kernel squares and sums in f32.`);
  }
  if (total > LARGEST_F32 || total < LEAST_SUM) {
    const why = total > LARGEST_F32 ? "beyond the range of f32" : "below what f32 sums without loss";
    said.push(`The sum of squares, ${number(total, 3)}, is ${why}. The kernel scales the row by a power of two first, which is exact.`);
  }
  if (eps > rms.meanSquare) {
    said.push(`eps is larger than the mean square (${number(rms.meanSquare, 3)}): it decides the root, and the normalised row stays small.`);
  }
  if (largest > 0.9 * total && x.length > 1) {
    said.push(`One channel makes up ${percent(largest / total)} of the mean square and decides the scale of all others.`);
  }
  const shift = Math.abs(layer.mean) / Math.sqrt(rms.meanSquare);
  if (shift > 0.5) {
    said.push(`The mean is ${percent(shift)} of the root mean square: LayerNorm removes it, RMSNorm keeps it.`);
  } else if (shift < 0.1) {
    said.push("The mean is small beside the root mean square: both norms nearly agree.");
  }
  if (weight.every((value) => value === 0)) said.push("All weights are 0, and so is the result.");
  return said;
}

function squares(count) {
  return count === 1 ? "One square is" : `${count} squares are`;
}
