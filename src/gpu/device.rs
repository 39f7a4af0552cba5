//! Devices: opened by the library, or the caller's.

use std::fmt;
use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::adapter::{self, Adapter};
use super::norm::Norm;
use super::options::GpuOptions;
use super::pipelines::{Compiler, Fault, Pipelines};
use super::self_test::SelfTest;
use super::transfer::filled_buffer;
use crate::error::{Detail, Error, Result};
use crate::plan::{Caps, DeviceKind, Params, ROW_DIGIT_VALUES, Rungs};
use crate::spec::NormSpec;
use crate::tuning::Tuning;

/// A device with its pipelines. Clones share both.
///
/// Of the device's memory it holds [`Gpu::held_bytes`], 64 KiB at most on most devices, and what the driver needs for the compiled
/// kernels, which are [`Gpu::pipelines`] many and go with [`Gpu::trim_pipelines`]. On the host it holds the text of each.
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
    pub(super) shared: Arc<Shared>,
    caps: Caps,
    wait_limit: Duration,
    pub(super) compiler: Compiler,
    pub(super) tuning: Option<Arc<Tuning>>,
}

pub(super) struct Shared {
    pub(super) device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    /// The numbers 0 .. 255, one at each uniform alignment: the digits of the number of rows, for all recordings.
    digits: wgpu::Buffer,
    /// The device's own caps: no others may exceed them.
    limits: Caps,
    pub(super) pipelines: Pipelines,
}

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
        (gpu.wait_limit, gpu.compiler.runtime_checks) = (options.wait_limit, options.runtime_checks);
        if options.self_test { gpu.tested().await } else { Ok(gpu) }
    }

    /// The same device after its self-test, restricted to the rungs that passed: for a device of the caller's, on which this
    /// library does nothing unasked.
    ///
    /// # Errors
    /// [`Error::SelfTest`] where the device computes wrong results; those of running a norm.
    pub async fn tested(self) -> Result<Self> {
        let caps = self.self_test().await?.restrict(self.caps())?;
        Ok(self.with_caps(caps))
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
            (
                "max_buffer_size",
                ROW_DIGIT_VALUES * u64::from(limits.min_uniform_buffer_offset_alignment.max(16)),
                limits.max_buffer_size,
            ),
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
            subgroups: device.features().contains(wgpu::Features::SUBGROUP),
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
        let padding = caps.uniform_step() as usize - 4;
        let table: Vec<u8> = (0..ROW_DIGIT_VALUES as u32)
            .flat_map(|digit| digit.to_le_bytes().into_iter().chain(std::iter::repeat_n(0, padding)))
            .collect();
        let digits = filled_buffer(&device, "wgpu-rmsnorm digits", wgpu::BufferUsages::UNIFORM, &table).await?;
        let shared = Shared { device, queue, info, digits, limits: caps, pipelines: Pipelines::default() };
        #[cfg_attr(
            target_arch = "wasm32",
            allow(
                clippy::arc_with_non_send_sync,
                reason = "a browser's objects stay on their thread; elsewhere they are shared"
            )
        )]
        let shared = Arc::new(shared);
        Ok(Self { shared, caps, wait_limit: GpuOptions::default().wait_limit, compiler: Compiler::default(), tuning: None })
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

    /// The same device with kernels that check every index, count every loop and find their workgroup memory zeroed, as wgpu has it by
    /// default. They have no need of it: a plan binds what its kernel touches, and nothing else, every loop ends, and what is read was
    /// written before. On software drivers the checks take up to a quarter of the time. In a browser they are always there.
    #[must_use]
    pub fn with_runtime_checks(&self) -> Self {
        let mut gpu = self.clone();
        gpu.compiler.runtime_checks = true;
        gpu
    }

    #[doc(hidden)]
    /// The same device with a deliberate fault: `from` is replaced by `to` in every kernel that has it. It is how the checks are shown to
    /// notice wrong kernels.
    #[must_use]
    pub fn with_fault(&self, from: impl Into<String>, to: impl Into<String>) -> Self {
        let mut gpu = self.clone();
        gpu.compiler.fault = Some(Arc::new(Fault { from: from.into(), to: to.into() }));
        gpu
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

    /// Bytes of device memory that this holds, clones included: the digits in which kernels get the number of rows, for all norms.
    /// What a prepared norm holds besides is [`Plan::held_bytes`](crate::Plan::held_bytes).
    pub fn held_bytes(&self) -> u64 {
        self.shared.limits.held_bytes()
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
    pub(crate) fn digits(&self) -> &wgpu::Buffer {
        &self.shared.digits
    }

    /// Bytes from one digit to the next, and at least from one params to the next.
    pub(crate) fn uniform_step(&self) -> u64 {
        self.shared.limits.uniform_step()
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
