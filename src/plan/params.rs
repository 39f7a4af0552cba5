//! What the kernel finds in its uniform.

use crate::error::{Detail, Error, Result};
use crate::slot::Slot;
use crate::spec::NormSpec;

/// The uniform of one chunk: where every operand lies, and the numbers of the spec. `shaders/parts/rows.wgsl` has the same, and a
/// test compares the two.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Params {
    /// For every operand, in the order of [`Slot::ALL`]: its first element from the start of the binding, and the elements from
    /// one row to the next.
    pub places: [[u32; 2]; Slot::COUNT],
    /// eps, for ordinary rows; 0 where it is subnormal, for beside their sums it is nothing.
    pub eps: f32,
    /// eps = fraction · 2^exponent, the fraction in [1, 2) or 0: for rescued rows.
    pub eps_fraction: f32,
    /// See `eps_fraction`.
    pub eps_exponent: i32,
    /// Added to every weight.
    pub weight_offset: f32,
    /// The scale of quantised output, where it is one for all rows.
    pub scale: f32,
    /// Zero, which no compiler knows: see `shaders/parts/opaque.wgsl`.
    pub zero: u32,
    /// In a backward pass, the number of the chunk's first block of rows.
    pub first_block: u32,
    /// Nothing: uniforms are multiples of 16 bytes.
    pub padding: u32,
}

const _: () = assert!(size_of::<Params>().is_multiple_of(16));

/// The exponent of an eps of zero: far below any element's, so that the element decides the scale.
const NO_EPS: i32 = -20_000;

impl Params {
    /// Those of a spec, with everything at the start of its binding.
    pub(super) fn new(spec: &NormSpec) -> Self {
        let eps = f64::from(spec.eps);
        // Every f32, subnormal ones too, is a normal f64: its exponent stands in the bits.
        let exponent = if eps == 0.0 { NO_EPS } else { ((eps.to_bits() >> 52) as i32) - 1023 };
        Self {
            eps: if spec.eps < f32::MIN_POSITIVE { 0.0 } else { spec.eps },
            eps_fraction: if eps == 0.0 { 0.0 } else { (eps * 2f64.powi(-exponent)) as f32 },
            eps_exponent: exponent,
            weight_offset: spec.weight_offset,
            scale: spec.quantized.and_then(|quantized| quantized.scale).unwrap_or(1.0),
            ..Self::default()
        }
    }

    /// The uniform as 32-bit words, for hosts that copy words rather than structs.
    pub fn words(&self) -> [u32; size_of::<Params>() / 4] {
        bytemuck::cast(*self)
    }

    /// First element of an operand in its binding.
    pub fn start(&self, slot: Slot) -> u32 {
        self.places[slot as usize][0]
    }

    /// Elements from one row of an operand to the next.
    pub fn stride(&self, slot: Slot) -> u32 {
        self.places[slot as usize][1]
    }

    /// Says where an operand lies.
    pub(super) fn place(&mut self, slot: Slot, start: u64, stride: u64) -> Result<()> {
        let narrow = |value: u64| {
            u32::try_from(value).map_err(|_| {
                Error::Limit(Detail::new(
                    slot.name(),
                    "strides and offsets below 2^32 elements within a binding",
                    value.to_string(),
                    "place the tensor more densely",
                ))
            })
        };
        self.places[slot as usize] = [narrow(start)?, narrow(stride)?];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eps_is_taken_apart_exactly() {
        for eps in [0.0, 1e-45, 1e-40, 1e-12, 1e-6, 1.0, 3.0, f32::MAX] {
            let params = Params::new(&NormSpec::torch(1, eps));
            assert_eq!(f64::from(params.eps_fraction) * 2f64.powi(params.eps_exponent.max(-600)), f64::from(eps));
            assert!(eps == 0.0 || (1.0..2.0).contains(&params.eps_fraction));
        }
    }
}
