//! The one error of the package.

use wasm_bindgen::prelude::*;
use wgpu_rmsnorm::Error;

#[wasm_bindgen(raw_module = "./error.js")]
extern "C" {
    /// The package's error class.
    pub type NormError;

    /// An error of a kind.
    #[wasm_bindgen(constructor)]
    pub fn new(kind: &str, message: &str) -> NormError;

    /// A value as messages have it.
    #[wasm_bindgen(js_name = describe)]
    pub fn describe(value: &JsValue) -> String;
}

/// A result of this crate.
pub type Result<T, E = NormError> = std::result::Result<T, E>;

impl From<Error> for NormError {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Spec(_) => "Spec",
            Error::Shape(_) => "Shape",
            Error::DType(_) => "DType",
            Error::Buffer(_) => "Buffer",
            Error::Aliasing(_) => "Aliasing",
            Error::Limit(_) => "Limit",
            Error::Plan(_) => "Plan",
            Error::Tuning(_) => "Tuning",
            Error::NoAdapter { .. } => "NoAdapter",
            Error::NoDevice { .. } => "NoDevice",
            Error::SelfTest { .. } => "SelfTest",
            Error::Shader { .. } => "Shader",
            Error::Wgpu { .. } => "Wgpu",
            Error::OutOfMemory { .. } => "OutOfMemory",
            Error::DeviceLost { .. } => "DeviceLost",
            Error::Timeout { .. } => "Timeout",
            _ => "Other",
        };
        Self::new(kind, &error.to_string())
    }
}

/// What the library has no type for: an argument that is not even of the right kind. The texts are built as the library's.
pub enum Refused {
    /// A field of a norm.
    Spec,
    /// An operand that is not there, or not an array.
    Shape,
    /// An array for another dtype.
    #[cfg(feature = "norms")]
    DType,
    /// Any other argument.
    Argument,
    /// What is beyond the device.
    #[cfg(feature = "lab")]
    Limit,
    /// What was to be timed did not do its work.
    #[cfg(feature = "lab")]
    Result,
}

impl Refused {
    /// The error: which argument, what would have been accepted, what came, and what to do about it.
    pub fn because(self, argument: &str, expected: &str, actual: &str, remedy: &str) -> NormError {
        let (kind, what) = match self {
            Refused::Spec => ("Spec", "invalid norm"),
            Refused::Shape => ("Shape", "shapes do not fit"),
            #[cfg(feature = "norms")]
            Refused::DType => ("DType", "dtypes do not fit"),
            Refused::Argument => ("Argument", "unusable argument"),
            #[cfg(feature = "lab")]
            Refused::Limit => ("Limit", "over a limit of the device"),
            #[cfg(feature = "lab")]
            Refused::Result => ("Result", "wrong result"),
        };
        NormError::new(kind, &format!("{what}: {argument}: expected {expected}, got {actual}; {remedy}"))
    }
}
