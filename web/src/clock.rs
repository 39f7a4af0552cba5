//! How long work on the device takes: by its own timestamps where it has them, else by the page's clock.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wgpu_rmsnorm::{Gpu, Result, wgpu};

#[wasm_bindgen]
extern "C" {
    /// Milliseconds of the page's clock.
    #[wasm_bindgen(js_namespace = performance)]
    fn now() -> f64;
}

/// Two timestamps of 8 bytes.
const BYTES: u64 = 16;

/// Seconds of a submit.
pub struct Time {
    /// From the first command that is recorded until the device is done, by the page's clock.
    pub whole: f64,
    /// By the clock. `None` where the device's timestamps make no sense.
    pub work: Option<f64>,
}

/// Times submits.
pub struct Clock {
    gpu: Gpu,
    stamps: Option<Stamps>,
}

struct Stamps {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
}

impl Clock {
    pub fn new(gpu: &Gpu) -> Self {
        let device = gpu.device();
        let stamps = device.features().contains(wgpu::Features::TIMESTAMP_QUERY).then(|| Stamps {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("clock"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("clock"),
                size: BYTES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
        });
        Self { gpu: gpu.clone(), stamps }
    }

    /// The same without the device's timestamps.
    pub fn by_wall(&self) -> Self {
        Self { gpu: self.gpu.clone(), stamps: None }
    }

    /// What tells the time, in words.
    pub fn name(&self) -> &'static str {
        if self.stamps.is_some() { "timestamps" } else { "wall clock" }
    }

    /// What is recorded into a pass, timed in a submit of its own.
    pub async fn time(&self, record: impl FnOnce(&mut wgpu::ComputePass<'_>) -> Result<()>) -> Result<Time> {
        let start = now();
        let mut encoder = self.gpu.device().create_command_encoder(&Default::default());
        let writes = self.stamps.as_ref().map(|stamps| wgpu::ComputePassTimestampWrites {
            query_set: &stamps.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        });
        record(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("clock"), timestamp_writes: writes }))?;
        if let Some(stamps) = &self.stamps {
            encoder.resolve_query_set(&stamps.queries, 0..2, &stamps.resolved, 0);
        }
        let recorded = now();
        self.gpu.queue().submit([encoder.finish()]);
        done(self.gpu.queue()).await;
        let end = now();
        let whole = (end - start) * 1e-3;
        let Some(stamps) = &self.stamps else { return Ok(Time { whole, work: Some((end - recorded) * 1e-3) }) };
        let bytes = self.gpu.read(&stamps.resolved, 0..BYTES).await?;
        let [begin, end] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])));
        // Some drivers write zeros, some what lies before, and browsers round to coarse steps.
        let work = (begin != 0 && end > begin).then(|| (end - begin) as f64 * 1e-9);
        Ok(Time { whole, work })
    }
}

/// Waits until the queue has done what was submitted.
async fn done(queue: &wgpu::Queue) {
    let promise = Promise::new(&mut |resolve, _| {
        queue.on_submitted_work_done(move || {
            // Nobody else settles it.
            let _ = resolve.call0(&JsValue::UNDEFINED);
        });
    });
    // It is never rejected; a device that is lost settles it too, and the next call says so.
    let _ = JsFuture::from(promise).await;
}

/// The median; `None` of nothing.
pub fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}
