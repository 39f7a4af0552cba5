//! How long work on the device takes: by its own timestamps where it has them, else by the wall clock.

use std::time::Instant;

use wgpu_rmsnorm::Gpu;
use wgpu_rmsnorm::wgpu::{self, CommandEncoder, Features};

use crate::failure::Failure;

/// What timing by the device takes.
pub const TIMESTAMPS: Features = Features::TIMESTAMP_QUERY.union(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
/// Two timestamps of 8 bytes.
const BYTES: u64 = 16;

/// Seconds of a submit.
pub struct Time {
    /// From the first command that is recorded until the device is done.
    pub whole: f64,
    /// By the clock. `None` where the device's timestamps make no sense.
    pub work: Option<f64>,
}

/// Times submits.
pub struct Clock {
    gpu: Gpu,
    stamps: Option<Stamps>,
    /// Timestamps that were zero or out of order: their submits count as not timed.
    pub dropped: usize,
}

struct Stamps {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
}

impl Clock {
    pub fn new(gpu: &Gpu, by_device: bool) -> Self {
        let device = gpu.device();
        let stamps = (by_device && device.features().contains(TIMESTAMPS)).then(|| Stamps {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("bench"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("bench"),
                size: BYTES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
        });
        Self { gpu: gpu.clone(), stamps, dropped: 0 }
    }

    /// What tells the time, in words.
    pub fn name(&self) -> &'static str {
        if self.stamps.is_some() { "the device's timestamps" } else { "the wall clock around submit and wait" }
    }

    /// What is recorded, timed in a submit of its own.
    pub fn time(&mut self, record: impl FnOnce(&mut CommandEncoder) -> Result<(), Failure>) -> Result<Time, Failure> {
        let start = Instant::now();
        let mut encoder = self.gpu.device().create_command_encoder(&Default::default());
        if let Some(stamps) = &self.stamps {
            encoder.write_timestamp(&stamps.queries, 0);
        }
        record(&mut encoder)?;
        if let Some(stamps) = &self.stamps {
            encoder.write_timestamp(&stamps.queries, 1);
            encoder.resolve_query_set(&stamps.queries, 0..2, &stamps.resolved, 0);
        }
        let recorded = Instant::now();
        let index = self.gpu.queue().submit([encoder.finish()]);
        self.gpu.wait(index)?;
        let whole = start.elapsed().as_secs_f64();
        let Some(stamps) = &self.stamps else { return Ok(Time { whole, work: Some(recorded.elapsed().as_secs_f64()) }) };
        let bytes = self.gpu.read_blocking(&stamps.resolved, 0..BYTES)?;
        let [begin, end] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])));
        // Some drivers write zeros, and some write what lies before.
        if begin == 0 || end <= begin {
            self.dropped += 1;
            return Ok(Time { whole, work: None });
        }
        let work = (end - begin) as f64 * f64::from(self.gpu.queue().get_timestamp_period()) * 1e-9;
        Ok(Time { whole, work: Some(work) })
    }

    /// The seconds from the first command that is recorded until the device is done, without timestamps.
    pub fn whole(&self, record: impl FnOnce(&mut CommandEncoder) -> Result<(), Failure>) -> Result<f64, Failure> {
        let start = Instant::now();
        let mut encoder = self.gpu.device().create_command_encoder(&Default::default());
        record(&mut encoder)?;
        let index = self.gpu.queue().submit([encoder.finish()]);
        self.gpu.wait(index)?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// The median; `None` of nothing.
pub fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}
