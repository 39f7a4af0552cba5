//! Inputs for the case list: reproducible values in the regimes that broke other implementations.

use crate::dtype::DType;
use crate::inputs::Inputs;
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
#[non_exhaustive]
pub struct Data {
    /// Rows.
    pub input: Values,
    /// One value a channel, where the spec has a weight.
    pub weight: Option<Values>,
    /// One value a channel, where the spec has a bias.
    pub bias: Option<Values>,
    /// As many rows as the input has, where the spec has a residual.
    pub residual: Option<Values>,
}

impl Data {
    /// Fills the operands of a norm. The same arguments give the same values, on every machine.
    pub fn new(spec: &NormSpec, rows: u64, regime: Regime, weights: Weights) -> Self {
        let mut random = Random::new(spec.hidden ^ rows.rotate_left(20) ^ 0x5eed);
        let hidden = spec.hidden as usize;
        let mut input = Vec::with_capacity(rows as usize * hidden);
        for row in 0..rows as usize {
            fill_row(&mut input, spec.input, row, hidden, regime, &mut random);
        }
        let channel = |dtype: DType, random: &mut Random, value: &dyn Fn(&mut Random) -> f64| {
            let values: Vec<f64> = (0..hidden).map(|_| clamp(dtype, value(random))).collect();
            Values::round_from(dtype, &values)
        };
        let weight = spec.weight.map(|dtype| {
            channel(dtype, &mut random, &|random| match weights {
                Weights::Usual => 1.0 - f64::from(spec.weight_offset) + 0.2 * random.normal(),
                Weights::Constant(value) => value,
                Weights::AnyFinite => random.any_finite(dtype),
            })
        });
        let bias = spec.bias.map(|dtype| channel(dtype, &mut random, &|random| 0.5 * random.normal()));
        let residual = spec.residual.map(|residual| {
            let mut values = Vec::with_capacity(input.len());
            for row in 0..rows as usize {
                fill_row(&mut values, residual.dtype, row, hidden, regime, &mut random);
            }
            Values::round_from(residual.dtype, &values)
        });
        Self { input: Values::round_from(spec.input, &input), weight, bias, residual }
    }

    /// Borrows them as a norm's inputs.
    pub fn inputs(&self) -> Inputs<'_> {
        let mut inputs = Inputs::new(&self.input);
        inputs.weight = self.weight.as_ref().map(Values::as_slice);
        inputs.bias = self.bias.as_ref().map(Values::as_slice);
        inputs.residual = self.residual.as_ref().map(Values::as_slice);
        inputs
    }
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
    let largest = largest(dtype);
    if value.is_finite() { value.clamp(-largest, largest) } else { value }
}

fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::MAX),
        DType::F16 => 65504.0,
        DType::BF16 => half::bf16::MAX.to_f64(),
    }
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
            };
            if value.is_finite() {
                return value;
            }
        }
    }
}
