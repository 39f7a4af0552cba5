//! Elements on the host, borrowed or owned, of any dtype.

use half::{bf16, f16};

use crate::dtype::{DType, Element};
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
        match self {
            Slice::F32(v) => v.len(),
            Slice::F16(v) => v.len(),
            Slice::BF16(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Their dtype.
    pub fn dtype(self) -> DType {
        match self {
            Slice::F32(_) => DType::F32,
            Slice::F16(_) => DType::F16,
            Slice::BF16(_) => DType::BF16,
        }
    }

    /// The exact value of element `index`, where there is one.
    pub fn get(self, index: usize) -> Option<f64> {
        match self {
            Slice::F32(v) => v.get(index).map(|x| x.widen()),
            Slice::F16(v) => v.get(index).map(|x| x.widen()),
            Slice::BF16(v) => v.get(index).map(|x| x.widen()),
        }
    }

    /// [`Slice::get`] for an index that was checked: a NaN past the end, which no comparison passes.
    pub(crate) fn at(self, index: usize) -> f64 {
        self.get(index).unwrap_or(f64::NAN)
    }

    /// All values, exact.
    pub fn widen(self) -> Vec<f64> {
        match self {
            Slice::F32(v) => v.iter().map(|x| x.widen()).collect(),
            Slice::F16(v) => v.iter().map(|x| x.widen()).collect(),
            Slice::BF16(v) => v.iter().map(|x| x.widen()).collect(),
        }
    }

    /// Their bytes.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Slice::F32(v) => bytemuck::cast_slice(v),
            Slice::F16(v) => bytemuck::cast_slice(v),
            Slice::BF16(v) => bytemuck::cast_slice(v),
        }
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
        }
    }

    /// Copies elements of `dtype` out of little-endian bytes; bytes after the last whole element are left.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Self {
        match dtype {
            DType::F32 => Values::F32(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()),
            DType::F16 => Values::F16(bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]])).collect()),
            DType::BF16 => Values::BF16(bytes.chunks_exact(2).map(|b| bf16::from_le_bytes([b[0], b[1]])).collect()),
        }
    }

    /// Borrows them.
    pub fn as_slice(&self) -> Slice<'_> {
        match self {
            Values::F32(v) => Slice::F32(v),
            Values::F16(v) => Slice::F16(v),
            Values::BF16(v) => Slice::BF16(v),
        }
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
