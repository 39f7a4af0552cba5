//! The one public error type.

use std::fmt;

/// What was wrong with one argument: its name, what was expected, what came, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detail {
    /// The argument, field or operand at fault.
    pub argument: String,
    /// What would have been accepted.
    pub expected: String,
    /// What came.
    pub actual: String,
    /// What the caller can do.
    pub remedy: String,
}

impl Detail {
    pub(crate) fn new(
        argument: impl Into<String>,
        expected: impl Into<String>,
        actual: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { argument: argument.into(), expected: expected.into(), actual: actual.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, got {}; {}", self.argument, self.expected, self.actual, self.remedy)
    }
}

/// Everything that can go wrong in this crate.
///
/// Every message names the argument, what was expected, what came and the remedy:
///
/// ```
/// use wgpu_rmsnorm::NormSpec;
///
/// let error = NormSpec::torch(0, 1e-5).validate().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "invalid norm: hidden: expected at least 1, got 0; pass the length of the last dimension"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of a [`NormSpec`](crate::NormSpec) is out of its domain.
    #[error("invalid norm: {0}")]
    Spec(Detail),
    /// A length, rank or stride does not fit.
    #[error("shapes do not fit: {0}")]
    Shape(Detail),
    /// Data of one dtype where the norm has another.
    #[error("dtypes do not fit: {0}")]
    DType(Detail),
    /// A buffer is too small, misaligned, lacks a usage or belongs elsewhere.
    #[error("unusable buffer: {0}")]
    Buffer(Detail),
    /// An input and an output overlap other than through the in-place form.
    #[error("operands overlap: {0}")]
    Aliasing(Detail),
    /// The device's limits do not allow it.
    #[error("over a limit of the device: {0}")]
    Limit(Detail),
    /// A forced choice of the plan does not apply.
    #[error("no such plan: {0}")]
    Plan(Detail),
    /// A tuning record that is damaged, or of another device or version.
    #[error("unusable tuning record: {0}")]
    Tuning(Detail),
    /// No adapter was found.
    #[error("no GPU adapter: tried {tried}; {remedy}")]
    NoAdapter {
        /// The backends that were tried, and what each said.
        tried: String,
        /// What brings an adapter on this system.
        remedy: String,
    },
    /// The adapter refused to open a device.
    #[error("the adapter {adapter} opened no device: {message}; choose another adapter or update its driver")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// What wgpu said.
        message: String,
    },
    /// The device computes wrong results, and is not used.
    #[error(
        "the device failed its self-test: {message}; update the driver or choose another adapter (GpuOptions::without_self_test opens it all the same)"
    )]
    SelfTest {
        /// What was wrong first.
        message: String,
    },
    /// A kernel did not compile: a bug here or in the driver.
    #[error("the kernel {kernel} did not compile: {message}; run the self-test and report this with the driver's version")]
    Shader {
        /// The kernel's label.
        kernel: String,
        /// What the compiler said.
        message: String,
    },
    /// wgpu refused a call of this library.
    #[error("wgpu refused {call}: {message}; this is a bug in the library or the driver, please report it")]
    Wgpu {
        /// The call.
        call: &'static str,
        /// What wgpu said.
        message: String,
    },
    /// The device is out of memory.
    #[error("out of device memory in {call}: {message}; free buffers or run fewer rows at once")]
    OutOfMemory {
        /// The call.
        call: &'static str,
        /// What wgpu said.
        message: String,
    },
    /// The device was lost. Every later call on it fails too.
    #[error("the device was lost in {call}: {message}; open a new device")]
    DeviceLost {
        /// The call.
        call: &'static str,
        /// What wgpu said.
        message: String,
    },
    /// The device did not answer within the time limit.
    #[error("the device did not finish {call} within {} s; run fewer rows at once or raise the limit", limit.as_secs_f64())]
    Timeout {
        /// The call.
        call: &'static str,
        /// The limit.
        limit: std::time::Duration,
    },
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
