//! Output in codes of 8 bits, with a scale.

use crate::dtype::DType;
use crate::spec::NormSpec;

/// Output in codes of 8 bits: `code = round(y / scale)`, to nearest, ties to even, saturating.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Quantized {
    /// [`DType::I8`] or [`DType::F8E4M3`].
    pub dtype: DType,
    /// The scale of all rows; `None` for one of each row (of each group), which is written beside the codes.
    pub scale: Option<f32>,
    #[cfg(norms_alone)]
    pub(crate) absent: crate::absent::Absent,
}

/// The smallest scale of a row that is not zero: below, codes are smaller than they could be.
pub(crate) const SMALLEST_SCALE: f32 = f32::MIN_POSITIVE;

impl NormSpec {
    /// The same with output in codes of `dtype` ([`DType::I8`] or [`DType::F8E4M3`]), symmetric, by a scale of each row:
    /// `scale = max|y| / largest code`, in f32, written beside them. The result is not rounded to another dtype before. A row of
    /// zeros has the scale 1. With groups, each group of a row has a scale.
    ///
    /// Rows begin at multiples of 4 bytes: where `hidden` is none, the row stride of the output is the next one.
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, Inputs, NormSpec, reference};
    ///
    /// let spec = NormSpec::torch(4, 0.0).without_weight().quantized(DType::I8);
    /// let (codes, scales) = reference::quantized(&spec, &Inputs::new(&[0.0f32, 1.0, 2.0, -4.0]))?;
    /// assert_eq!(codes, [0.0, 32.0, 64.0, -127.0]);
    /// # let _ = scales;
    /// # Ok::<(), wgpu_rmsnorm::Error>(())
    /// ```
    pub const fn quantized(mut self, dtype: DType) -> Self {
        self.quantized = Some(Quantized {
            dtype,
            scale: None,
            #[cfg(norms_alone)]
            absent: crate::absent::absent(),
        });
        self
    }

    /// The same with output in codes of `dtype` by one scale for all rows, which is known beforehand.
    pub const fn quantized_by(mut self, dtype: DType, scale: f32) -> Self {
        self.quantized = Some(Quantized {
            dtype,
            scale: Some(scale),
            #[cfg(norms_alone)]
            absent: crate::absent::absent(),
        });
        self
    }

    /// Whether each row has a scale, which is written.
    pub(crate) fn writes_scale(&self) -> bool {
        self.quantized.is_some_and(|quantized| quantized.scale.is_none())
    }

    /// Whether a row's largest result is its scale times its largest `x · w`: not where something is rounded, added or multiplied
    /// in between.
    pub(crate) fn largest_product_will_do(&self) -> bool {
        let plain = self.normalized_dtype().is_none() && self.bias.is_none() && self.gate.is_none_or(|_| self.gates_input());
        plain && !self.centered && self.statistics_length() == self.group_length()
    }
}
