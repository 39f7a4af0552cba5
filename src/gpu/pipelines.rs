//! The compiled kernels of a device: one a text, and how long the slowest took.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::device::Gpu;
use super::pipeline::Pipeline;
use crate::error::Result;
use crate::plan::Binding;
use crate::shader::Shader;

/// How kernels are compiled.
#[derive(Clone, Default)]
pub(super) struct Compiler {
    /// Whether kernels check every index and count every loop at run time.
    pub runtime_checks: bool,
    /// The driver's own results, kept by the caller from one run of a program to the next.
    pub cache: Option<wgpu::PipelineCache>,
    pub fault: Option<Arc<Fault>>,
}

/// A deliberate fault: text to be replaced in every kernel.
pub(super) struct Fault {
    pub from: String,
    pub to: String,
}

/// What the clones of a [`Gpu`] have compiled.
#[derive(Default)]
pub(super) struct Pipelines(Mutex<Compiled>);

#[derive(Default)]
struct Compiled {
    kernels: HashMap<Kernel, Arc<Pipeline>>,
    slowest: Option<CompileTime>,
}

/// What tells compiled kernels apart: their text, and whether they check at run time.
type Kernel = (String, bool);

/// How long a kernel took to compile: from its text to a pipeline, in wgpu and in the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileTime {
    /// The kernel's label.
    pub kernel: String,
    /// How long it took.
    pub time: Duration,
}

/// The label and the milliseconds.
impl fmt::Display for CompileTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {:.1} ms", self.kernel, self.time.as_secs_f64() * 1e3)
    }
}

impl Pipelines {
    fn lock(&self) -> MutexGuard<'_, Compiled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Compiler {
    async fn compile(
        &self,
        device: &wgpu::Device,
        bindings: &[Binding],
        shader: &Shader,
    ) -> Result<(Pipeline, Option<CompileTime>)> {
        let pipeline = Pipeline::compile(device, bindings, shader, self);
        // A browser has no such clock, and compiles when it likes.
        #[cfg(target_arch = "wasm32")]
        return Ok((pipeline.await?, None));
        #[cfg(not(target_arch = "wasm32"))]
        {
            let start = std::time::Instant::now();
            let pipeline = pipeline.await?;
            Ok((pipeline, Some(CompileTime { kernel: shader.label.clone(), time: start.elapsed() })))
        }
    }

    /// The kernel with the fault in it, where it has that text.
    fn broken(&self, mut shader: Shader) -> Shader {
        if let Some(Fault { from, to }) = self.fault.as_deref() {
            shader.wgsl = shader.wgsl.replace(from, to);
        }
        shader
    }
}

impl Gpu {
    /// The same device with a pipeline cache of the caller's: what the driver makes of a kernel is taken from it, and added to it,
    /// so that the next run of the program, with the cache's data, compiles in less time. What this device has compiled already
    /// stays. The cache must be of the same device, or compiling fails with [`Error::Shader`](crate::Error::Shader).
    ///
    /// Of wgpu's backends Vulkan alone has such caches, where the device was opened with `Features::PIPELINE_CACHE` (which
    /// [`Gpu::open`] does not ask for): on the others there is none to pass, and every run compiles anew, or takes what the
    /// driver keeps by itself, as most drivers of desktop systems do.
    ///
    /// ```no_run
    /// use wgpu_rmsnorm::{Adapter, Gpu, wgpu};
    ///
    /// async fn open(adapter: &Adapter, file: &std::path::Path) -> Result<Gpu, Box<dyn std::error::Error>> {
    ///     let required_features = adapter.wgpu().features() & wgpu::Features::PIPELINE_CACHE;
    ///     let descriptor = wgpu::DeviceDescriptor { required_features, ..Default::default() };
    ///     let (device, queue) = adapter.wgpu().request_device(&descriptor).await?;
    ///     let gpu = Gpu::from_wgpu(device, queue).await?;
    ///     if required_features.is_empty() {
    ///         return Ok(gpu);
    ///     }
    ///     let data = std::fs::read(file).ok();
    ///     let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: data.as_deref(), fallback: true };
    ///     // SAFETY: the file is this program's own: nobody else writes it.
    ///     let cache = unsafe { gpu.device().create_pipeline_cache(&descriptor) };
    ///     // Once all norms are prepared, `cache.get_data()` is what to write to the file.
    ///     Ok(gpu.with_pipeline_cache(cache))
    /// }
    /// ```
    #[must_use]
    pub fn with_pipeline_cache(&self, cache: wgpu::PipelineCache) -> Self {
        let mut gpu = self.clone();
        gpu.compiler.cache = Some(cache);
        gpu
    }

    /// Pipelines compiled so far: one for each distinct kernel text.
    pub fn pipelines(&self) -> usize {
        self.shared.pipelines.lock().kernels.len()
    }

    /// Drops all compiled pipelines where there are more than `most`, as programs that meet ever new norms may want. What is
    /// prepared keeps its own; what is prepared later compiles again.
    pub fn trim_pipelines(&self, most: usize) {
        let mut compiled = self.shared.pipelines.lock();
        if compiled.kernels.len() > most {
            compiled.kernels.clear();
        }
    }

    /// The kernel that took longest to compile on this device so far; those that were dropped since count too. `None` where
    /// nothing was compiled, and in a browser, which compiles when it likes.
    pub fn slowest_compile(&self) -> Option<CompileTime> {
        self.shared.pipelines.lock().slowest.clone()
    }

    /// The pipeline of one of a plan's kernels with these bindings, compiled on first use.
    pub(super) async fn pipeline(&self, bindings: &[Binding], shader: Shader) -> Result<Arc<Pipeline>> {
        let shader = self.compiler.broken(shader);
        let kernel = (shader.wgsl.clone(), self.compiler.runtime_checks);
        let pipelines = &self.shared.pipelines;
        if let Some(found) = pipelines.lock().kernels.get(&kernel) {
            return Ok(found.clone());
        }
        let (pipeline, time) = self.compiler.compile(&self.shared.device, bindings, &shader).await?;
        let mut compiled = pipelines.lock();
        if let Some(time) = time
            && compiled.slowest.as_ref().is_none_or(|slowest| slowest.time < time.time)
        {
            compiled.slowest = Some(time);
        }
        // Another thread may have been faster: then its pipeline stays, and there is one a text.
        Ok(compiled.kernels.entry(kernel).or_insert(Arc::new(pipeline)).clone())
    }
}
