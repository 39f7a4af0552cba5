//! What sweeps find: lengths at which a norm is suddenly slow, and sizes at which it falls behind the copy.

use super::shape::Shape;

/// Lengths are held against the nearest multiple of this.
const STEP: u64 = 64;
/// The most that an element may take there, over what it takes in rows of such a multiple.
const CLIFF_LIMIT: f64 = 1.5;
/// The same for rows of an odd number of 16-bit elements, which share words.
const ODD_HALVES_LIMIT: f64 = 2.0;
/// The least that the share of the copy may be, over what it is at half the size.
const GROWTH_LIMIT: f64 = 0.9;

/// A measurement, as far as it counts here.
#[derive(Debug, Clone)]
pub struct Point {
    /// Operation and dtype, in words: only within them is anything compared.
    pub series: String,
    /// Whether elements of rows have 16 bits.
    pub halves: bool,
    pub shape: Shape,
    /// What the norm takes.
    pub seconds: f64,
    /// Its share of the copy's speed.
    pub share: f64,
}

/// The worst that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What it is, and where.
    pub text: String,
    /// Whether that is within the limit.
    pub held: bool,
}

impl Point {
    fn seconds_an_element(&self) -> f64 {
        self.seconds / (self.shape[0] * self.shape[1]) as f64
    }

    fn is_odd_half(&self) -> bool {
        self.halves && self.shape[1] % 2 == 1
    }

    fn name(&self) -> String {
        format!("{} {}x{}", self.series, self.shape[0], self.shape[1])
    }
}

/// Where an element takes the longest beside what it takes in rows of the nearest multiple of 64: of odd rows of 16-bit elements, and
/// of all others.
pub fn cliff(points: &[Point]) -> Vec<Verdict> {
    let worst = |odd_halves: bool, limit: f64, kind: &str| {
        let pairs = points.iter().filter(|point| point.is_odd_half() == odd_halves);
        let pairs = pairs.filter_map(|point| Some((point, neighbour(points, point)?)));
        let ratios = pairs.map(|(point, beside)| (point.seconds_an_element() / beside.seconds_an_element(), point, beside));
        let (ratio, point, beside) = ratios.max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
        Some(Verdict {
            text: format!(
                "cliff, {kind}: at worst {ratio:.2} times the time an element of {} channels, at {} (limit {limit})",
                beside.shape[1],
                point.name()
            ),
            held: ratio <= limit,
        })
    };
    let kinds = [(false, CLIFF_LIMIT, "all but odd rows of 16 bits"), (true, ODD_HALVES_LIMIT, "odd rows of 16 bits")];
    kinds.into_iter().filter_map(|(odd_halves, limit, kind)| worst(odd_halves, limit, kind)).collect()
}

/// The measurement at the nearer of the two neighbouring multiples, or at the other where the nearer was not measured.
fn neighbour<'a>(points: &'a [Point], point: &Point) -> Option<&'a Point> {
    let hidden = point.shape[1];
    let below = hidden / STEP * STEP;
    let at = |hidden: u64| points.iter().find(|other| other.series == point.series && other.shape[1] == hidden);
    let nearest_first = if hidden - below <= STEP / 2 { [below, below + STEP] } else { [below + STEP, below] };
    if hidden == below { None } else { nearest_first.into_iter().find_map(at) }
}

/// Where the share of the copy falls most as the size doubles, by rows or by channels.
pub fn growth(points: &[Point]) -> Vec<Verdict> {
    let doubles = |small: &Point, large: &Point| {
        let ([rows, hidden], other) = (small.shape, large.shape);
        small.series == large.series && (other == [2 * rows, hidden] || other == [rows, 2 * hidden])
    };
    let pairs = points.iter().flat_map(|small| points.iter().map(move |large| (small, large)));
    let ratios =
        pairs.filter(|(small, large)| doubles(small, large)).map(|(small, large)| (large.share / small.share, small, large));
    let worst = ratios.min_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let verdict = worst.map(|(ratio, small, large)| Verdict {
        text: format!(
            "growth: the share of the copy is at worst {ratio:.2} of what it is at half the size, from {} to {}x{} (limit {GROWTH_LIMIT})",
            small.name(),
            large.shape[0],
            large.shape[1]
        ),
        held: ratio >= GROWTH_LIMIT,
    });
    verdict.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(series: &str, shape: Shape, nanoseconds_an_element: f64, share: f64) -> Point {
        let seconds = nanoseconds_an_element * 1e-9 * (shape[0] * shape[1]) as f64;
        Point { series: series.into(), halves: series.ends_with("16"), shape, seconds, share }
    }

    #[test]
    fn a_cliff_is_found_beside_the_nearest_multiple() {
        let even = [point("norm f32", [64, 64], 1.0, 0.5), point("norm f32", [32, 128], 0.5, 0.5)];
        let held = [&even[..], &[point("norm f32", [63, 65], 1.4, 0.5), point("norm f32", [32, 127], 0.6, 0.5)]].concat();
        let [verdict] = &cliff(&held)[..] else { panic!("one kind of rows") };
        assert!(verdict.held && verdict.text.contains("1.40 times") && verdict.text.contains("norm f32 63x65"), "{verdict:?}");
        let broken = [&held[..], &[point("norm f32", [32, 129], 0.8, 0.5)]].concat();
        let [verdict] = &cliff(&broken)[..] else { panic!("one kind of rows") };
        assert!(!verdict.held && verdict.text.contains("1.60 times") && verdict.text.contains("32x129"), "{verdict:?}");
    }

    #[test]
    fn odd_rows_of_halves_have_a_limit_of_their_own() {
        let points = [
            point("norm f16", [16, 64], 1.0, 0.5),
            point("norm f16", [16, 65], 1.9, 0.5),
            point("norm f16", [16, 66], 1.6, 0.5),
            // Another series is no neighbour.
            point("norm bf16", [16, 65], 9.0, 0.5),
        ];
        let [others, odd] = &cliff(&points)[..] else { panic!("two kinds of rows") };
        assert!(!others.held && others.text.contains("16x66") && others.text.contains("limit 1.5"), "{others:?}");
        assert!(odd.held && odd.text.contains("1.90 times") && odd.text.contains("limit 2)"), "{odd:?}");
    }

    #[test]
    fn growth_looks_at_doublings() {
        let mut points = vec![
            point("norm f32", [1024, 256], 1.0, 0.5),
            point("norm f32", [2048, 256], 1.0, 0.48),
            point("norm f32", [1024, 512], 1.0, 0.46),
            // Not twice as large as any.
            point("norm f32", [8192, 256], 1.0, 0.1),
        ];
        let [verdict] = &growth(&points)[..] else { panic!("one verdict") };
        assert!(verdict.held && verdict.text.contains("0.92 of") && verdict.text.contains("1024x256 to 1024x512"), "{verdict:?}");
        points.push(point("norm f32", [4096, 256], 1.0, 0.36));
        let [verdict] = &growth(&points)[..] else { panic!("one verdict") };
        assert!(!verdict.held && verdict.text.contains("0.28 of"), "{verdict:?}");
    }

    #[test]
    fn nothing_to_compare_is_no_verdict() {
        let points = [point("norm f32", [1, 65], 1.0, 0.5), point("norm f32", [1, 4096], 1.0, 0.5)];
        assert!(cliff(&points).is_empty() && growth(&points).is_empty());
    }
}
