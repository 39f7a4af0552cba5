//! Data types, and the exact conversions between them.

use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};

use crate::error::{Detail, Error, Result};
use crate::values::Slice;

/// How the elements of a tensor are stored.
///
/// ```
/// use wgpu_rmsnorm::DType;
///
/// assert_eq!(DType::BF16.size(), 2);
/// // Nearest, ties to even: halfway between 1 and the next bf16 goes to 1.
/// assert_eq!(DType::BF16.round(1.00390625), 1.0);
/// assert_eq!(DType::F16.round(65519.99), 65504.0);
/// assert_eq!(DType::F16.round(65520.0), f64::INFINITY);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// Codes of quantised output: whole numbers from -127 to 127, to be multiplied by a scale.
    I8,
    /// Codes of quantised output: 4 bits of exponent, 3 of fraction, no infinity (OCP FP8 E4M3, PyTorch's `float8_e4m3fn`).
    F8E4M3,
}

impl DType {
    /// Those in which every operand may be.
    pub const ALL: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
    /// Those in which quantised output may be, and nothing else.
    pub const CODES: [DType; 2] = [DType::I8, DType::F8E4M3];

    /// Bytes an element.
    pub const fn size(self) -> u64 {
        match self {
            DType::F32 => 4,
            DType::F16 | DType::BF16 => 2,
            DType::I8 | DType::F8E4M3 => 1,
        }
    }

    /// Whether an element is a code of 8 bits.
    pub const fn is_code(self) -> bool {
        self.size() == 1
    }

    /// The largest finite value: 127 for [`DType::I8`], 448 for [`DType::F8E4M3`].
    pub const fn largest(self) -> f64 {
        match self {
            DType::F32 => f32::MAX as f64,
            DType::F16 => 65504.0,
            DType::BF16 => f32::MAX as f64 * (1.0 - 1.0 / 256.0) / (1.0 - 1.0 / 16_777_216.0),
            DType::I8 => 127.0,
            DType::F8E4M3 => 448.0,
        }
    }

    /// Whether an element takes 16 bits.
    pub const fn is_half(self) -> bool {
        self.size() == 2
    }

    /// `"f32"`, `"f16"`, `"bf16"`, `"i8"` or `"f8e4m3"`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I8 => "i8",
            DType::F8E4M3 => "f8e4m3",
        }
    }

    /// The name in full, as PyTorch and NumPy have it: `"float32"`, `"float16"`, `"bfloat16"`, `"int8"`
    /// or `"float8_e4m3fn"`.
    pub const fn long_name(self) -> &'static str {
        match self {
            DType::F32 => "float32",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::I8 => "int8",
            DType::F8E4M3 => "float8_e4m3fn",
        }
    }

    /// Bits of the stored fraction: 23, 10, 7 or 3; none for whole numbers.
    pub const fn fraction_bits(self) -> u32 {
        match self {
            DType::F32 => 23,
            DType::F16 => 10,
            DType::BF16 => 7,
            DType::I8 => 0,
            DType::F8E4M3 => 3,
        }
    }

    /// Exponent of the smallest normal number: -126, -14 or -6; 0 for whole numbers.
    pub const fn min_exponent(self) -> i32 {
        match self {
            DType::F32 | DType::BF16 => -126,
            DType::F16 => -14,
            DType::I8 => 0,
            DType::F8E4M3 => -6,
        }
    }

    /// `value` rounded once to this type: nearest, ties to even, infinite beyond the range; codes saturate, and a NaN is 0 among
    /// whole numbers.
    pub fn round(self, value: f64) -> f64 {
        match self {
            DType::F32 => f64::from(value as f32),
            DType::F16 => f16::from_bits(narrow(value, 5, 10) as u16).to_f64(),
            DType::BF16 => bf16::from_bits(narrow(value, 8, 7) as u16).to_f64(),
            DType::I8 => f64::from(i8::round_from(value)),
            DType::F8E4M3 => F8E4M3::round_from(value).widen(),
        }
    }

    /// The distance between neighbours of this type at the magnitude of `value`.
    pub fn ulp(self, value: f64) -> f64 {
        if self == DType::I8 {
            return 1.0;
        }
        let magnitude = value.abs().max(2f64.powi(self.min_exponent()));
        let exponent = ((magnitude.to_bits() >> 52) as i32) - 1023;
        2f64.powi(exponent - self.fraction_bits() as i32)
    }

    /// The type that both promote to: the wider one, f32 for f16 with bf16 (as PyTorch promotes).
    pub fn promote(self, other: DType) -> DType {
        if self == other { self } else { DType::F32 }
    }
}

/// The name, as [`DType::name`] or [`DType::long_name`] has it.
impl FromStr for DType {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let all = DType::ALL.into_iter().chain(DType::CODES);
        let found = all.into_iter().find(|dtype| name == dtype.name() || name == dtype.long_name());
        found.ok_or_else(|| {
            let expected = "f32, f16 or bf16; i8 or f8e4m3 for codes";
            Error::DType(Detail::new("dtype", expected, format!("{name:?}"), "choose one of these"))
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Rounds to a format of `exponent_bits` and `fraction_bits`: nearest, ties to even, straight from binary64, so that no
/// value is rounded twice.
fn narrow(value: f64, exponent_bits: u32, fraction_bits: u32) -> u32 {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = value.to_bits();
    let magnitude = bits & (u64::MAX >> 1);
    let sign = ((bits >> 63) as u32) << (exponent_bits + fraction_bits);
    let infinity = ((1u32 << exponent_bits) - 1) << fraction_bits;
    if magnitude > f64::INFINITY.to_bits() {
        return sign | infinity | (1 << (fraction_bits - 1));
    }
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let exponent = ((magnitude >> 52) as i32) - 1023;
    let below_normal = (1 - bias - exponent).max(0) as u32;
    let shift = 52 - fraction_bits + below_normal;
    if shift > 54 {
        return sign;
    }
    let significand = (magnitude & FRACTION) | (1 << 52);
    let half = 1u64 << (shift - 1);
    let odd = (significand >> shift) & 1;
    let kept = ((significand + half - 1 + odd) >> shift) as u32;
    // The carry out of a full fraction moves into the exponent by itself.
    let rounded = if below_normal > 0 { kept } else { (((exponent + bias) as u32 - 1) << fraction_bits) + kept };
    sign | if exponent > bias { infinity } else { rounded.min(infinity) }
}

/// A host type with a [`DType`].
pub trait Element: bytemuck::Pod + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;
    /// Rounds once: nearest, ties to even.
    fn round_from(value: f64) -> Self;
    /// The exact value.
    fn widen(self) -> f64;
    /// Wraps a slice.
    fn slice(values: &[Self]) -> Slice<'_>;
}

impl Element for f32 {
    const DTYPE: DType = DType::F32;
    fn round_from(value: f64) -> Self {
        value as f32
    }
    fn widen(self) -> f64 {
        f64::from(self)
    }
    fn slice(values: &[Self]) -> Slice<'_> {
        Slice::F32(values)
    }
}

impl Element for f16 {
    const DTYPE: DType = DType::F16;
    fn round_from(value: f64) -> Self {
        f16::from_bits(narrow(value, 5, 10) as u16)
    }
    fn widen(self) -> f64 {
        self.to_f64()
    }
    fn slice(values: &[Self]) -> Slice<'_> {
        Slice::F16(values)
    }
}

impl Element for bf16 {
    const DTYPE: DType = DType::BF16;
    fn round_from(value: f64) -> Self {
        bf16::from_bits(narrow(value, 8, 7) as u16)
    }
    fn widen(self) -> f64 {
        self.to_f64()
    }
    fn slice(values: &[Self]) -> Slice<'_> {
        Slice::BF16(values)
    }
}

impl Element for i8 {
    const DTYPE: DType = DType::I8;
    fn round_from(value: f64) -> Self {
        // A NaN becomes 0.
        value.round_ties_even().clamp(-127.0, 127.0) as i8
    }
    fn widen(self) -> f64 {
        f64::from(self)
    }
    fn slice(values: &[Self]) -> Slice<'_> {
        Slice::I8(values)
    }
}

/// A number of 8 bits: sign, 4 bits of exponent (bias 7), 3 of fraction. There is no infinity; `0x7f` and `0xff` are NaN.
///
/// ```
/// use wgpu_rmsnorm::{Element, F8E4M3};
///
/// assert_eq!(F8E4M3::round_from(1.0), F8E4M3(0x38));
/// // It saturates, where other types become infinite.
/// assert_eq!(F8E4M3::round_from(1e9).widen(), 448.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct F8E4M3(pub u8);

impl Element for F8E4M3 {
    const DTYPE: DType = DType::F8E4M3;
    fn round_from(value: f64) -> Self {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        if value.is_nan() {
            return Self(0x7f);
        }
        // Rounded in steps of the binade (those of the smallest one below it), and then read as a fraction and an exponent.
        let magnitude = value.abs().min(DType::F8E4M3.largest());
        let rounded = (magnitude / DType::F8E4M3.ulp(magnitude)).round_ties_even() * DType::F8E4M3.ulp(magnitude);
        let step = DType::F8E4M3.ulp(rounded);
        let exponent = (step * 512.0).log2() as u8;
        let steps = (rounded / step) as u8;
        Self(sign | ((exponent << 3) + steps))
    }
    fn widen(self) -> f64 {
        let (exponent, fraction) = (i32::from(self.0 >> 3 & 15), f64::from(self.0 & 7));
        let magnitude = match (exponent, self.0 & 0x7f) {
            (_, 0x7f) => f64::NAN,
            (0, _) => fraction / 512.0,
            _ => (1.0 + fraction / 8.0) * 2f64.powi(exponent - 7),
        };
        if self.0 >= 0x80 { -magnitude } else { magnitude }
    }
    fn slice(values: &[Self]) -> Slice<'_> {
        Slice::F8E4M3(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E4: f32 to bf16 by cutting bits is biased toward zero.
    #[test]
    fn e4_bf16_rounds_to_nearest_even() {
        for (from, to) in [
            (0x3F80_C000u32, 0x3F81u16),
            (0x3F80_8000, 0x3F80),
            (0x3F81_8000, 0x3F82),
            (0x3F80_7FFF, 0x3F80),
            (0x7F7F_FFFF, 0x7F80),
        ] {
            assert_eq!(bf16::round_from(f64::from(f32::from_bits(from))).to_bits(), to, "{from:08x}");
        }
    }

    #[test]
    fn every_half_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let (h, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            if h.is_nan() {
                assert!(f16::round_from(h.widen()).is_nan());
            } else {
                assert_eq!(f16::round_from(h.widen()).to_bits(), bits);
            }
            if b.is_nan() {
                assert!(bf16::round_from(b.widen()).is_nan());
            } else {
                assert_eq!(bf16::round_from(b.widen()).to_bits(), bits);
            }
        }
    }

    /// Halfway points go to the even neighbour; a hair to either side goes to that side. Binary64 holds all three exactly.
    #[test]
    fn halfway_points_of_f16_round_to_even() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (f16::from_bits(bits).widen(), f16::from_bits(bits + 1).widen());
            let middle = (low + high) / 2.0;
            let hair = (high - low) / 1e6;
            assert_eq!(f16::round_from(middle - hair).to_bits(), bits);
            assert_eq!(f16::round_from(middle + hair).to_bits(), bits + 1);
            assert_eq!(f16::round_from(middle).to_bits(), if bits % 2 == 0 { bits } else { bits + 1 });
        }
    }

    #[test]
    fn rounding_agrees_with_half_where_half_rounds_once() {
        let mut bits = 0x1234_5678u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = f32::from_bits(bits);
            if value.is_finite() {
                assert_eq!(f16::round_from(f64::from(value)), f16::from_f32(value), "{value:e}");
                assert_eq!(bf16::round_from(f64::from(value)), bf16::from_f32(value), "{value:e}");
            }
        }
    }

    #[test]
    fn ulp_is_the_distance_to_the_next_value() {
        assert_eq!(DType::F32.ulp(1.0), f64::from(f32::EPSILON));
        assert_eq!(DType::F16.ulp(0.0), 2f64.powi(-24));
        assert_eq!(DType::BF16.ulp(-3.0), 2f64.powi(-6));
    }

    #[test]
    fn every_f8_survives_the_round_trip_and_ties_go_to_even() {
        for bits in 0..=u8::MAX {
            let value = F8E4M3(bits).widen();
            if value.is_nan() {
                assert_eq!(bits & 0x7f, 0x7f);
                continue;
            }
            assert_eq!(F8E4M3::round_from(value).0, bits, "{value}");
            if bits & 0x7f < 0x7e {
                let next = F8E4M3(bits + 1).widen();
                let middle = (value + next) / 2.0;
                assert_eq!(F8E4M3::round_from(middle).0, if bits % 2 == 0 { bits } else { bits + 1 }, "{middle}");
                assert_eq!(F8E4M3::round_from(middle + (next - value) / 1e3).0, bits + 1);
            }
        }
        assert_eq!([f64::NAN, -f64::NAN].map(F8E4M3::round_from), [F8E4M3(0x7f); 2]);
        assert_eq!(F8E4M3::round_from(f64::NEG_INFINITY), F8E4M3(0xfe));
    }

    #[test]
    fn whole_numbers_are_symmetric_and_saturate() {
        let rounded = [0.5, 1.5, -2.5, 127.4, 1e9, -1e9, f64::NAN].map(i8::round_from);
        assert_eq!(rounded, [0, 2, -2, 127, 127, -127, 0]);
        assert_eq!(DType::BF16.largest(), bf16::MAX.to_f64());
    }
}
