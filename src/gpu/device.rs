//! Devices: opened by the library, or the caller's.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::adapter::{self, Adapter};
use super::norm::Norm;
use super::pipeline::Pipeline;
use super::self_test::SelfTest;
use super::transfer::filled_buffer;
use crate::error::{Detail, Error, Result};
use crate::plan::{Caps, DeviceKind, Params, Plan, Rungs};
use crate::spec::NormSpec;

/// Values of a digit of the number of rows.
const DIGITS: u64 = 256;

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
    /// Whether the device must pass its [self-test](Gpu::self_test) first.
    pub self_test: bool,
    /// The longest wait for the device in one call. (A browser waits by itself, without a limit.)
    pub wait_limit: Duration,
    /// Whether kernels check every index and count every loop at run time: see [`Gpu::with_runtime_checks`].
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

/// A device with its pipelines. Clones share both.
///
/// ```no_run
/// use wgpu_rmsnorm::{Gpu, Inputs, NormSpec};
///
/// let gpu = Gpu::new_blocking()?;
/// let norm = gpu.norm(NormSpec::torch(4, 1e-6))?;
/// let y: Vec<f32> = norm.run_blocking(&Inputs::new(&[1.0f32, 2.0, 3.0, 4.0]).weight(&[1.0f32; 4]))?;
/// # Ok::<(), wgpu_rmsnorm::Error>(())
/// ```
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
    caps: Caps,
    wait_limit: Duration,
    runtime_checks: bool,
    fault: Option<Arc<Fault>>,
}

/// A deliberate fault: text to be replaced in every kernel.
struct Fault {
    from: String,
    to: String,
}

struct Shared {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    /// The numbers 0 .. 255, one at each uniform alignment: the digits of the number of rows, for all recordings.
    digits: wgpu::Buffer,
    /// The device's own caps: no others may exceed them.
    limits: Caps,
    /// The device's alignment of dynamic uniform offsets, at least 16 bytes.
    uniform_step: u64,
    pipelines: Mutex<HashMap<Kernel, Arc<Pipeline>>>,
}

/// What tells compiled kernels apart: their text, and whether they check at run time.
type Kernel = (String, bool);

impl Gpu {
    /// Opens the best adapter and tests it: Vulkan, Metal, DX12 or WebGPU, a discrete GPU before an integrated one, software
    /// last.
    ///
    /// # Errors
    /// [`Error::NoAdapter`], [`Error::NoDevice`], or the self-test's.
    pub async fn new() -> Result<Self> {
        Self::with(GpuOptions::default()).await
    }

    /// [`Gpu::new`], waiting on this thread.
    ///
    /// # Errors
    /// Those of [`Gpu::new`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new_blocking() -> Result<Self> {
        pollster::block_on(Self::new())
    }

    /// Opens an adapter of the caller's choice.
    ///
    /// # Errors
    /// Those of [`Gpu::new`].
    pub async fn with(options: GpuOptions) -> Result<Self> {
        let adapter = adapter::choose(options.adapter.as_deref(), options.with_gl).await?;
        Self::open(&adapter, &options).await
    }

    /// Opens this adapter with its own buffer and workgroup limits.
    ///
    /// # Errors
    /// [`Error::NoDevice`], or the self-test's.
    pub async fn open(adapter: &Adapter, options: &GpuOptions) -> Result<Self> {
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("wgpu-rmsnorm"),
            required_features: adapter.useful_features(),
            required_limits: adapter.adapter.limits(),
            ..Default::default()
        };
        let (device, queue) = request_device(adapter, &descriptor)
            .await
            .map_err(|error| Error::NoDevice { adapter: adapter.to_string(), message: error.to_string() })?;
        let mut gpu = Self::from_wgpu(device, queue).await?;
        (gpu.wait_limit, gpu.runtime_checks) = (options.wait_limit, options.runtime_checks);
        if options.self_test { gpu.tested().await } else { Ok(gpu) }
    }

    /// The same device after its self-test, restricted to the rungs that passed: for a device of the caller's, on which this
    /// library does nothing unasked.
    ///
    /// # Errors
    /// [`Error::SelfTest`] where the device computes wrong results; those of running a norm.
    pub async fn tested(self) -> Result<Self> {
        let rungs = self.self_test().await?.rungs()?;
        Ok(self.with_caps(Caps { rungs, ..self.caps }))
    }

    /// Wraps the caller's device, exactly as it is: its limits are what counts, no callback is installed, and recording never
    /// polls it. (The calls that wait for results, such as [`Norm::run`], poll it while they wait.) The device is not tested
    /// unless [`Gpu::tested`] is called on it.
    ///
    /// # Errors
    /// [`Error::Limit`] for a device with less than WebGPU's default limits where they are needed; [`Error::OutOfMemory`] or
    /// [`Error::DeviceLost`] where it has no room for 64 KiB.
    pub async fn from_wgpu(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self> {
        let (info, limits) = (device.adapter_info(), device.limits());
        for (name, needed, offered) in [
            ("max_bind_groups", 1, limits.max_bind_groups.into()),
            ("max_bindings_per_bind_group", 9, limits.max_bindings_per_bind_group.into()),
            ("max_uniform_buffers_per_shader_stage", 5, limits.max_uniform_buffers_per_shader_stage.into()),
            ("max_dynamic_uniform_buffers_per_pipeline_layout", 4, limits.max_dynamic_uniform_buffers_per_pipeline_layout.into()),
            ("max_uniform_buffer_binding_size", size_of::<Params>() as u64, limits.max_uniform_buffer_binding_size),
            ("max_buffer_size", DIGITS * u64::from(limits.min_uniform_buffer_offset_alignment.max(16)), limits.max_buffer_size),
        ] {
            if offered < needed {
                let remedy = "open the device with WebGPU's default limits or better";
                return Err(Error::Limit(Detail::new(name, format!("at least {needed}"), offered.to_string(), remedy)));
            }
        }
        let caps = Caps {
            kind: if info.device_type == wgpu::DeviceType::Cpu { DeviceKind::Cpu } else { DeviceKind::Gpu },
            subgroup_min: info.subgroup_min_size,
            subgroup_max: info.subgroup_max_size,
            max_binding: limits.max_storage_buffer_binding_size,
            max_buffer: limits.max_buffer_size,
            storage_alignment: limits.min_storage_buffer_offset_alignment,
            uniform_alignment: limits.min_uniform_buffer_offset_alignment,
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            max_invocations: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
            workgroup_memory: limits.max_compute_workgroup_storage_size,
            max_storage_buffers: limits.max_storage_buffers_per_shader_stage,
            long_words: info.device_type == wgpu::DeviceType::Cpu && device.features().contains(wgpu::Features::SHADER_INT64),
            rungs: Rungs::ALL,
        };
        let uniform_step = u64::from(caps.uniform_alignment).max(16);
        let table: Vec<u8> = (0..DIGITS as u32)
            .flat_map(|digit| digit.to_le_bytes().into_iter().chain(std::iter::repeat_n(0, uniform_step as usize - 4)))
            .collect();
        let digits = filled_buffer(&device, "wgpu-rmsnorm digits", wgpu::BufferUsages::UNIFORM, &table).await?;
        let shared = Shared { device, queue, info, digits, limits: caps, uniform_step, pipelines: Mutex::default() };
        Ok(Self {
            shared: Arc::new(shared),
            caps,
            wait_limit: GpuOptions::default().wait_limit,
            runtime_checks: false,
            fault: None,
        })
    }

    /// [`Gpu::from_wgpu`], waiting on this thread (for nothing, on native).
    ///
    /// # Errors
    /// Those of [`Gpu::from_wgpu`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn from_wgpu_blocking(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self> {
        pollster::block_on(Self::from_wgpu(device, queue))
    }

    /// The same device, planned for other caps: lower limits, fewer rungs or another kind, to test what then happens. Limits
    /// above the device's own are brought down to them.
    #[must_use]
    pub fn with_caps(&self, caps: Caps) -> Self {
        Self { caps: caps.within(&self.shared.limits), ..self.clone() }
    }

    /// The same device with kernels that check every index and count every loop at run time, as wgpu has it by default. They have no
    /// need of it: a plan binds what its kernel touches, and nothing else, and every loop ends. On software drivers the checks take up to
    /// a quarter of the time. In a browser they are always there.
    #[must_use]
    pub fn with_runtime_checks(&self) -> Self {
        Self { runtime_checks: true, ..self.clone() }
    }

    #[doc(hidden)]
    /// The same device with a deliberate fault: `from` is replaced by `to` in every kernel. It is how the checks are shown to
    /// notice wrong kernels; a kernel that does not contain `from` is refused.
    #[must_use]
    pub fn with_fault(&self, from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { fault: Some(Arc::new(Fault { from: from.into(), to: to.into() })), ..self.clone() }
    }

    /// A norm on this device.
    ///
    /// # Errors
    /// Those of [`NormSpec::validate`].
    pub fn norm(&self, spec: NormSpec) -> Result<Norm> {
        Norm::new(self.clone(), spec)
    }

    /// Computes a few rows on every rung, compares them with the CPU reference and with each other.
    ///
    /// # Errors
    /// Those of running a norm. A wrong result is no error here: see [`SelfTest::rungs`].
    pub async fn self_test(&self) -> Result<SelfTest> {
        SelfTest::run(self).await
    }

    /// Waits until a submission is done, but no longer than [`GpuOptions::wait_limit`].
    ///
    /// # Errors
    /// [`Error::Timeout`] where it takes longer.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(self.wait_limit) };
        match self.device().poll(wait) {
            Ok(_) => Ok(()),
            Err(wgpu::PollError::Timeout) => Err(Error::Timeout { call: "a submission", limit: self.wait_limit }),
            // wgpu forgets submissions of a device that is gone.
            Err(error) => Err(Error::DeviceLost { call: "poll", message: error.to_string() }),
        }
    }

    /// What the plan knows of the device.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }
    /// What wgpu knows of the adapter.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.shared.info
    }
    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.shared.device
    }
    /// The queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.shared.queue
    }
    /// The longest wait for the device in one call.
    pub fn wait_limit(&self) -> Duration {
        self.wait_limit
    }
    /// Pipelines compiled so far: one for each distinct kernel text.
    pub fn pipelines(&self) -> usize {
        self.shared.pipelines.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
    /// Drops all compiled pipelines where there are more than `most`, as programs that meet ever new norms may want. What is
    /// prepared keeps its own; what is prepared later compiles again.
    pub fn trim_pipelines(&self, most: usize) {
        let mut pipelines = self.shared.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if pipelines.len() > most {
            pipelines.clear();
        }
    }

    pub(crate) fn digits(&self) -> &wgpu::Buffer {
        &self.shared.digits
    }

    /// Bytes from one digit to the next, and at least from one params to the next.
    pub(crate) fn uniform_step(&self) -> u64 {
        self.shared.uniform_step
    }

    /// The pipeline of a plan, compiled on first use.
    pub(crate) async fn pipeline(&self, plan: &Plan) -> Result<Arc<Pipeline>> {
        let mut shader = plan.shader();
        if let Some(fault) = &self.fault {
            if !shader.wgsl.contains(&fault.from) {
                return Err(Error::Plan(Detail::new(
                    "fault",
                    "text of the kernel",
                    fault.from.clone(),
                    "copy it from the shader",
                )));
            }
            shader.wgsl = shader.wgsl.replace(&fault.from, &fault.to);
        }
        let cache = || self.shared.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = (shader.wgsl.clone(), self.runtime_checks);
        if let Some(found) = cache().get(&kernel) {
            return Ok(found.clone());
        }
        let compiled = Arc::new(Pipeline::compile(&self.shared.device, plan, &shader, self.runtime_checks).await?);
        // Another thread may have been faster: then its pipeline stays, and there is one a text.
        Ok(cache().entry(kernel).or_insert(compiled).clone())
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("info", &self.shared.info).field("caps", &self.caps).finish_non_exhaustive()
    }
}

/// Name, driver, backend and what the plan knows.
impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wgpu::AdapterInfo { name, driver, driver_info, backend, .. } = &self.shared.info;
        write!(f, "{name} ({driver} {driver_info}, {backend:?}): {}", self.caps)
    }
}

#[cfg(not(target_arch = "wasm32"))]
async fn request_device(
    adapter: &Adapter,
    descriptor: &wgpu::DeviceDescriptor<'_>,
) -> Result<(wgpu::Device, wgpu::Queue), wgpu::RequestDeviceError> {
    // Drivers have crashed when threads opened devices at the same time (case M5). Native wgpu is ready at once, so that no
    // await holds the lock.
    static OPENING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    pollster::block_on(adapter.adapter.request_device(descriptor))
}

#[cfg(target_arch = "wasm32")]
async fn request_device(
    adapter: &Adapter,
    descriptor: &wgpu::DeviceDescriptor<'_>,
) -> Result<(wgpu::Device, wgpu::Queue), wgpu::RequestDeviceError> {
    adapter.adapter.request_device(descriptor).await
}
