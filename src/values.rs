//! Elements on the host, borrowed or owned, of any dtype.

use std::ops::Range;

use half::{bf16, f16};

use crate::dtype::{DType, Element, F8E4M3};
use crate::error::{Detail, Error, Result};

/// Borrowed elements of any dtype.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Slice<'a> {
    /// Binary32.
    F32(&'a [f32]),
    /// Binary16.
    F16(&'a [f16]),
    /// bfloat16.
    BF16(&'a [bf16]),
    /// Whole numbers of 8 bits.
    I8(&'a [i8]),
    /// Numbers of 8 bits.
    F8E4M3(&'a [F8E4M3]),
}

/// The same expression for the elements of a slice or of values, whatever their dtype.
macro_rules! for_each_dtype {
    ($of:expr, $kind:ident, $v:ident => $body:expr) => {
        match $of {
            $kind::F32($v) => $body,
            $kind::F16($v) => $body,
            $kind::BF16($v) => $body,
            $kind::I8($v) => $body,
            $kind::F8E4M3($v) => $body,
        }
    };
}

impl<'a, T: Element> From<&'a [T]> for Slice<'a> {
    fn from(values: &'a [T]) -> Self {
        T::slice(values)
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Slice<'a> {
    fn from(values: &'a Vec<T>) -> Self {
        T::slice(values)
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Slice<'a> {
    fn from(values: &'a [T; N]) -> Self {
        T::slice(values)
    }
}

impl<'a> From<&'a Values> for Slice<'a> {
    fn from(values: &'a Values) -> Self {
        values.as_slice()
    }
}

impl<'a> Slice<'a> {
    /// Elements.
    pub fn len(self) -> usize {
        for_each_dtype!(self, Slice, v => v.len())
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Their dtype.
    pub fn dtype(self) -> DType {
        fn of<T: Element>(_: &[T]) -> DType {
            T::DTYPE
        }
        for_each_dtype!(self, Slice, v => of(v))
    }

    /// The exact value of element `index`, where there is one.
    pub fn get(self, index: usize) -> Option<f64> {
        for_each_dtype!(self, Slice, v => v.get(index).map(|x| x.widen()))
    }

    /// [`Slice::get`] for an index that was checked: a NaN past the end, which no comparison passes.
    pub(crate) fn at(self, index: usize) -> f64 {
        self.get(index).unwrap_or(f64::NAN)
    }

    /// All values, exact.
    pub fn widen(self) -> Vec<f64> {
        for_each_dtype!(self, Slice, v => v.iter().map(|x| x.widen()).collect())
    }

    /// Their bytes.
    pub fn bytes(self) -> &'a [u8] {
        for_each_dtype!(self, Slice, v => bytemuck::cast_slice(v))
    }

    /// Some of them: those of `range` that are there.
    pub fn range(self, range: Range<usize>) -> Self {
        let (start, end) = (range.start.min(self.len()), range.end.min(self.len()));
        for_each_dtype!(self, Slice, v => Element::slice(&v[start..end.max(start)]))
    }
}

/// Owned elements of any dtype.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Binary32.
    F32(Vec<f32>),
    /// Binary16.
    F16(Vec<f16>),
    /// bfloat16.
    BF16(Vec<bf16>),
    /// Whole numbers of 8 bits.
    I8(Vec<i8>),
    /// Numbers of 8 bits.
    F8E4M3(Vec<F8E4M3>),
}

impl Values {
    /// Rounds every value once to `dtype`.
    pub fn round_from(dtype: DType, values: &[f64]) -> Self {
        fn all<T: Element>(values: &[f64]) -> Vec<T> {
            values.iter().map(|&v| T::round_from(v)).collect()
        }
        match dtype {
            DType::F32 => Values::F32(all(values)),
            DType::F16 => Values::F16(all(values)),
            DType::BF16 => Values::BF16(all(values)),
            DType::I8 => Values::I8(all(values)),
            DType::F8E4M3 => Values::F8E4M3(all(values)),
        }
    }

    /// Copies elements of `dtype` out of little-endian bytes; bytes after the last whole element are left.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Self {
        match dtype {
            DType::F32 => Values::F32(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()),
            DType::F16 => Values::F16(bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]])).collect()),
            DType::BF16 => Values::BF16(bytes.chunks_exact(2).map(|b| bf16::from_le_bytes([b[0], b[1]])).collect()),
            DType::I8 => Values::I8(bytes.iter().map(|&b| b as i8).collect()),
            DType::F8E4M3 => Values::F8E4M3(bytes.iter().map(|&b| F8E4M3(b)).collect()),
        }
    }

    /// Borrows them.
    pub fn as_slice(&self) -> Slice<'_> {
        for_each_dtype!(self, Values, v => Element::slice(v))
    }

    /// The elements as a `Vec<T>`.
    ///
    /// # Errors
    /// [`Error::DType`] where they are of another dtype.
    pub fn into_vec<T: Element>(self) -> Result<Vec<T>> {
        let slice = self.as_slice();
        if slice.dtype() != T::DTYPE {
            return Err(Error::DType(Detail::new(
                "values",
                format!("{} elements", T::DTYPE),
                slice.dtype().name(),
                "collect into that type, or set the norm's output dtype",
            )));
        }
        Ok(bytemuck::allocation::pod_collect_to_vec(slice.bytes()))
    }
}
