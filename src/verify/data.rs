//! Inputs for the case list: reproducible values in the regimes that broke other implementations.

use crate::dtype::{DType, Element, F8E4M3};
use crate::inputs::Inputs;
use crate::reference::{Moments, statistic, values};
use crate::shard::Shard;
use crate::slot::{BySlot, Slot};
use crate::spec::NormSpec;
use crate::values::Values;

/// How the rows of a case are filled.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Regime {
    /// N(0, 1) times a factor.
    Normal(f64),
    /// One value everywhere.
    Constant(f64),
    /// A value with alternating sign.
    Alternating(f64),
    /// One value in one place, another everywhere else.
    Spike(f64, f64),
    /// Normal about a mean.
    About {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        spread: f64,
    },
    /// N(0, 1) with every 512th column 40 times as large.
    Outliers,
    /// Random finite bits: every exponent is as likely as any other.
    AnyFinite,
    /// Subnormal numbers of the dtype.
    Subnormal,
    /// Row 1 holds a NaN, row 3 an infinity; all others are N(0, 1).
    Spoiled,
    /// Rows that differ: normal, zero, huge, tiny, subnormal, in turn.
    Mixed,
}

/// How the weight of a case is filled.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Weights {
    /// 1 + 0.2 N(0, 1).
    Usual,
    /// One value everywhere.
    Constant(f64),
    /// Random finite bits.
    AnyFinite,
}

/// The values of a case on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Data(BySlot<Values>);

impl Data {
    /// Fills the operands of a norm. The same arguments give the same values, on every machine.
    pub fn new(spec: &NormSpec, rows: u64, regime: Regime, weights: Weights) -> Self {
        Self::beside(spec, rows, regime, None, weights)
    }

    /// The same, with another regime for residual, gate and incoming gradients.
    pub fn beside(spec: &NormSpec, rows: u64, regime: Regime, beside: Option<Regime>, weights: Weights) -> Self {
        let mut random = Random::new(spec.hidden ^ rows.rotate_left(20) ^ 0x5eed);
        let mut data = Self(BySlot::default());
        for slot in Slot::ALL.into_iter().filter(|slot| !slot.is_written() || spec.adds_to(*slot)) {
            let Some(dtype) = spec.dtype_of(slot) else { continue };
            let values = match slot {
                Slot::Weight => (0..spec.weight_length()).map(|_| weight(spec, dtype, weights, &mut random)).collect(),
                Slot::Bias => (0..spec.weight_length()).map(|_| 0.5 * random.normal()).collect(),
                Slot::Statistics => data.statistics(spec, regime, &mut random),
                // Gates of every kind: shut, half open, open wide.
                Slot::Gate => fill_rows(spec, dtype, rows, beside.unwrap_or(gate_regime(regime)), &mut random),
                Slot::SavedRstd => data.scales(spec),
                Slot::GradWeight | Slot::GradBias => (0..spec.weight_length()).map(|_| random.normal()).collect(),
                Slot::Residual | Slot::GradOutput | Slot::GradResidualOut => {
                    fill_rows(spec, dtype, rows, beside.unwrap_or(regime), &mut random)
                }
                _ => fill_rows(spec, dtype, rows, regime, &mut random),
            };
            let values: Vec<f64> = values.into_iter().map(|value| clamp(dtype, value)).collect();
            data.0.set(slot, Some(Values::round_from(dtype, &values)));
        }
        data
    }

    /// Borrows them as a norm's inputs.
    pub fn inputs(&self) -> Inputs<'_> {
        let nothing = Inputs::new(&[] as &[f32]);
        self.0.iter().fold(nothing, |inputs, (slot, values)| inputs.with(slot, Some(values.as_slice())))
    }

    /// One of them.
    pub fn get(&self, slot: Slot) -> Option<&Values> {
        self.0.get(slot)
    }

    /// What the forward pass wrote as the scales of rows.
    fn scales(&self, spec: &NormSpec) -> Vec<f64> {
        let values = values(spec, &self.inputs());
        values.chunks_exact(spec.group_length() as usize).map(|group| Moments::new(spec, group, None).rstd).collect()
    }

    /// What all shards found: the first is the input, the others are made up in the same regime, each a little longer than the
    /// one before.
    fn statistics(&self, spec: &NormSpec, regime: Regime, random: &mut Random) -> Vec<f64> {
        let Some(Shard::Apply { total, shards }) = spec.shard else { return Vec::new() };
        let rows = self.inputs().input().widen();
        let mut statistics = Vec::new();
        for (row, part) in rows.chunks_exact(spec.hidden as usize).enumerate() {
            let mut left = total - spec.hidden;
            statistics.extend(statistic(part));
            for shard in 1..shards {
                let length = if shard + 1 == shards { left } else { (left / (shards - shard)).saturating_sub(1) };
                left -= length;
                let mut part = Vec::new();
                fill_row(&mut part, spec.input, row, length as usize, regime, random);
                statistics.extend(statistic(&part.iter().map(|x| spec.input.round(*x)).collect::<Vec<_>>()));
            }
        }
        statistics
    }
}

fn weight(spec: &NormSpec, dtype: DType, weights: Weights, random: &mut Random) -> f64 {
    match weights {
        Weights::Usual => 1.0 - f64::from(spec.weight_offset) + 0.2 * random.normal(),
        Weights::Constant(value) => value,
        Weights::AnyFinite => random.any_finite(dtype),
    }
}

fn gate_regime(regime: Regime) -> Regime {
    match regime {
        Regime::Normal(_) | Regime::Outliers => Regime::Normal(3.0),
        Regime::Mixed => Regime::Normal(60.0),
        other => other,
    }
}

fn fill_rows(spec: &NormSpec, dtype: DType, rows: u64, regime: Regime, random: &mut Random) -> Vec<f64> {
    let mut values = Vec::with_capacity((rows * spec.hidden) as usize);
    for row in 0..rows as usize {
        fill_row(&mut values, dtype, row, spec.hidden as usize, regime, random);
    }
    values
}

fn fill_row(input: &mut Vec<f64>, dtype: DType, row: usize, hidden: usize, regime: Regime, random: &mut Random) {
    let regime = match regime {
        Regime::Mixed => {
            [Regime::Normal(1.0), Regime::Constant(0.0), Regime::Normal(1e30), Regime::Normal(1e-30), Regime::Subnormal][row % 5]
        }
        other => other,
    };
    let special = random.below(hidden);
    for column in 0..hidden {
        let value = match regime {
            Regime::Normal(scale) => scale * random.normal(),
            Regime::Constant(value) => value,
            Regime::About { mean, spread } => mean + spread * random.normal(),
            Regime::Alternating(value) => {
                if column % 2 == 0 {
                    value
                } else {
                    -value
                }
            }
            Regime::Spike(peak, rest) => {
                if column == special {
                    peak
                } else {
                    rest
                }
            }
            Regime::Outliers => random.normal() * if column % 512 == 0 { 40.0 } else { 1.0 },
            Regime::AnyFinite => random.any_finite(dtype),
            Regime::Subnormal => 2f64.powi(dtype.min_exponent()) * (random.uniform() - 0.5),
            Regime::Spoiled if column == special && row == 1 => f64::NAN,
            Regime::Spoiled if column == special && row == 3 => f64::INFINITY,
            Regime::Spoiled | Regime::Mixed => random.normal(),
        };
        input.push(clamp(dtype, value));
    }
}

/// Finite values beyond the dtype's range become its largest.
fn clamp(dtype: DType, value: f64) -> f64 {
    let largest = dtype.largest();
    if value.is_finite() { value.clamp(-largest, largest) } else { value }
}

/// A small generator (splitmix64), so that cases are the same everywhere.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// N(0, 1), by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn any_finite(&mut self, dtype: DType) -> f64 {
        loop {
            let bits = self.next();
            let value = match dtype {
                DType::F32 => f64::from(f32::from_bits(bits as u32)),
                DType::F16 => half::f16::from_bits(bits as u16).to_f64(),
                DType::BF16 => half::bf16::from_bits(bits as u16).to_f64(),
                DType::I8 => f64::from(bits as i8),
                DType::F8E4M3 => F8E4M3(bits as u8).widen(),
            };
            if value.is_finite() {
                return value;
            }
        }
    }
}
