//! How a device is opened.

use std::time::Duration;

/// How a device is opened.
///
/// ```no_run
/// use wgpu_rmsnorm::{Gpu, GpuOptions};
///
/// # async fn open() -> Result<(), wgpu_rmsnorm::Error> {
/// let gpu = Gpu::with(GpuOptions::default().adapter("llvmpipe")).await?;
/// println!("{gpu}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GpuOptions {
    /// Part of the adapter's name, driver or backend; the best adapter where there is none.
    pub adapter: Option<String>,
    /// Whether OpenGL adapters count too.
    pub with_gl: bool,
    /// Whether the device must pass its [self-test](crate::Gpu::self_test) first.
    pub self_test: bool,
    /// The longest wait for the device in one call. (A browser waits by itself, without a limit.)
    pub wait_limit: Duration,
    /// Whether kernels check every index and count every loop at run time: see [`Gpu::with_runtime_checks`](crate::Gpu::with_runtime_checks).
    pub runtime_checks: bool,
}

impl Default for GpuOptions {
    fn default() -> Self {
        Self { adapter: None, with_gl: false, self_test: true, wait_limit: Duration::from_secs(120), runtime_checks: false }
    }
}

impl GpuOptions {
    /// Only an adapter whose name, driver or backend contains `text`.
    pub fn adapter(mut self, text: impl Into<String>) -> Self {
        self.adapter = Some(text.into());
        self
    }
    /// OpenGL adapters count too.
    pub fn with_gl(mut self) -> Self {
        self.with_gl = true;
        self
    }
    /// Opens the device without its self-test: to look at a driver that fails it.
    pub fn without_self_test(mut self) -> Self {
        self.self_test = false;
        self
    }
    /// Kernels check every index and count every loop at run time.
    pub fn with_runtime_checks(mut self) -> Self {
        self.runtime_checks = true;
        self
    }
    /// The longest wait for the device in one call.
    pub fn wait_limit(mut self, limit: Duration) -> Self {
        self.wait_limit = limit;
        self
    }
}
