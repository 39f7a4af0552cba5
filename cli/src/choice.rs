//! Which adapter the work is done on.

use std::path::PathBuf;

use clap::Args;
use pollster::block_on;
use wgpu_rmsnorm::{Adapter, Gpu, GpuOptions, wgpu};

use crate::bench::TIMESTAMPS;
use crate::failure::Failure;
use crate::output::COMMON;
use crate::record;

/// Which adapters count.
#[derive(Debug, Clone, Args)]
pub struct Choice {
    /// Only adapters whose name, driver or backend contains this
    #[arg(long, value_name = "TEXT", global = true, help_heading = COMMON)]
    adapter: Option<String>,
    /// Count OpenGL adapters too (needs a build with `--features gles`)
    #[arg(long, global = true, help_heading = COMMON)]
    gl: bool,
    /// Plan by this record of what was measured on the device, which `tune` wrote; one of another device or version is ignored
    #[arg(long, value_name = "FILE", global = true, help_heading = COMMON)]
    tuning: Option<PathBuf>,
    /// Break every kernel on purpose: FROM is replaced by TO in its text. It is how the checks are shown to notice
    #[arg(long, global = true, hide = true, value_name = "FROM=>TO", value_parser = fault)]
    fault: Option<Fault>,
}

#[derive(Debug, Clone)]
struct Fault {
    from: String,
    to: String,
}

fn fault(text: &str) -> Result<Fault, String> {
    let (from, to) = text.split_once("=>").ok_or("expected FROM=>TO, text of the kernel and what shall stand there instead")?;
    Ok(Fault { from: from.into(), to: to.into() })
}

impl Choice {
    /// The adapters of this choice, the best first; none where the system has none.
    pub fn adapters(&self) -> Result<Vec<Adapter>, Failure> {
        if self.gl && !cfg!(feature = "gles") {
            return Err(Failure::new("--gl: this build has no OpenGL", "build with it: cargo run --release --features gles"));
        }
        let found = block_on(wgpu_rmsnorm::adapters(self.gl));
        let Some(text) = &self.adapter else { return Ok(found) };
        let (chosen, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|adapter| adapter.matches(text));
        if chosen.is_empty() && !others.is_empty() {
            let names: Vec<_> = others.iter().map(ToString::to_string).collect();
            return Err(Failure::new(format!("--adapter: none matches {text:?}"), format!("there are: {}", names.join(", "))));
        }
        Ok(chosen)
    }

    /// The best adapter, opened and tested.
    pub fn gpu(&self) -> Result<(Adapter, Gpu), Failure> {
        let adapter = self.adapters()?.into_iter().next().ok_or_else(no_adapter)?;
        let gpu = self.open(&adapter, &GpuOptions::default())?;
        Ok((adapter, gpu))
    }

    /// The best adapter, opened with its timestamps, where it has them, and tested.
    pub fn timed_gpu(&self) -> Result<(Adapter, Gpu), Failure> {
        let adapter = self.adapters()?.into_iter().next().ok_or_else(no_adapter)?;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("bench"),
            required_limits: adapter.wgpu().limits(),
            required_features: adapter.useful_features() | (adapter.wgpu().features() & TIMESTAMPS),
            ..Default::default()
        };
        let opened = block_on(adapter.wgpu().request_device(&descriptor));
        let (device, queue) = opened
            .map_err(|error| Failure::new(format_args!("{adapter}: does not open: {error}"), "choose another with --adapter"))?;
        let gpu = block_on(Gpu::from_wgpu_blocking(device, queue)?.tested())?;
        Ok((adapter, self.planned(gpu)))
    }

    /// The same choice, planned without a record.
    pub fn untuned(&self) -> Self {
        Self { tuning: None, ..self.clone() }
    }

    /// An adapter, opened.
    pub fn open(&self, adapter: &Adapter, options: &GpuOptions) -> Result<Gpu, Failure> {
        Ok(self.planned(block_on(Gpu::open(adapter, options))?))
    }

    /// By the record and with the fault that were asked for.
    fn planned(&self, gpu: Gpu) -> Gpu {
        let gpu = record::tuned(gpu, self.tuning.as_deref());
        match &self.fault {
            None => gpu,
            Some(Fault { from, to }) => gpu.with_fault(from, to),
        }
    }
}

/// That there is no adapter, and what brings one.
pub fn no_adapter() -> Failure {
    match block_on(Gpu::new()) {
        Err(error) => error.into(),
        Ok(gpu) => Failure::new(format_args!("an adapter came up only now: {gpu}"), "run this again"),
    }
}
