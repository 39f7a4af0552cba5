// Both norms of one row, step by step in float64, as the library's reference computes them.

/** The steps of an RMSNorm, or of a LayerNorm (`centered`) with a bias of zero. */
export function steps(x, weight, eps, centered) {
  const mean = centered ? meanOf(x) : 0;
  const deviations = x.map((value) => value - mean);
  const squares = deviations.map((value) => value * value);
  const meanSquare = sum(squares) / x.length;
  const plusEps = meanSquare + eps;
  const root = Math.sqrt(plusEps);
  // A row without deviations stays zero, with an eps of zero too.
  const quotient = deviations.map((value) => (root === 0 ? 0 : value / root));
  const y = quotient.map((value, i) => value * weight[i]);
  return { x, mean, deviations, squares, meanSquare, plusEps, root, quotient, y };
}

/** About the first value, so that equal values have their own for a mean; and again about what was found, for accuracy. */
function meanOf(values) {
  const about = (center) => center + sum(values.map((value) => value - center)) / values.length;
  return about(about(values[0]));
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
