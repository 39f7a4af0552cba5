//! A norm and the copies of its bytes, in turns.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use wgpu_rmsnorm::verify::{Data, Regime, Weights};
use wgpu_rmsnorm::wgpu::{self, Buffer, BufferUsages};
use wgpu_rmsnorm::{BySlot, DType, Error, Gpu as Inner, NormSpec, Operands, Prepared, Slot};

use crate::clock::{Clock, Time, median};
use crate::copies::Copy;
use crate::error::{Refused, Result};
use crate::fields::{object, whole};
use crate::gpu::Gpu;
use crate::{spec, written};

/// A submit shall take as long as this: browsers tell the time in coarse steps.
const SUBMIT: f64 = 0.02;
/// Norms of a submit, where that is not reached.
const MOST_REPETITIONS: f64 = 1024.0;
/// Submits of each.
const SUBMITS: [f64; 2] = [3.0, 101.0];
/// Submits of one norm, and the part of the time that they may take.
const SINGLES: [f64; 2] = [3.0, 101.0];
const SINGLES_PART: f64 = 0.2;
/// Rows and elements of made-up data: they repeat, for making up all of a large tensor takes longer than timing its norm.
const MADE_UP_ROWS: u64 = 64;
const MADE_UP_ELEMENTS: u64 = 1 << 18;
/// Bytes that go to the device in one piece, about.
const PIECE: usize = 1 << 22;
/// What fills an output before: a NaN in every dtype, and no result of made-up rows.
const SENTINEL: u8 = 0xff;

#[wasm_bindgen]
impl Gpu {
    /// Times a norm and a copy of its bytes, in turns, for about so many seconds.
    pub fn time(&self, spec: &JsValue, rows: &JsValue, seconds: f64) -> Result<Promise> {
        let (spec, rows) = (spec::from_js(spec)?, whole("rows", rows)?);
        if rows == 0 {
            return Err(Refused::Shape.because("rows", "at least 1", "0", "pass the number of rows to be timed"));
        }
        let gpu = self.0.clone();
        Ok(future_to_promise(async move { Ok(time(&gpu, spec, rows, seconds).await?) }))
    }
}

/// Times a norm of made-up rows, and a copy of as many bytes, in about so many seconds.
async fn time(gpu: &Inner, spec: NormSpec, rows: u64, seconds: f64) -> Result<JsValue> {
    refuse_too_large(gpu, &spec, rows)?;
    let scopes =
        [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation].map(|filter| gpu.device().push_error_scope(filter));
    let buffers = create_buffers(gpu, &spec, rows);
    for scope in scopes.into_iter().rev().map(wgpu::ErrorScopeGuard::pop).collect::<Vec<_>>() {
        if let Some(error) = scope.await {
            return Err(Error::OutOfMemory { call: "create_buffer", message: error.to_string() }.into());
        }
    }
    // Not before: to fill what is beyond the device would take hours.
    fill_all(gpu, &spec, rows, &buffers);
    let clock = Clock::new(gpu);
    let prepared = prepare(gpu, &spec, &buffers, rows).await?;
    let bytes = prepared.plan().bytes(rows);
    let copy = Copy::fastest(gpu, bytes, &clock).await?.ok_or_else(no_time)?;
    let turns = Turns { clock: &clock, prepared: &prepared, rows, copy: &copy };
    let single = turns.single(SINGLES_PART * seconds).await?;
    let [norm, copied] = turns.batches((1.0 - SINGLES_PART) * seconds).await?;
    for (slot, buffer) in buffers.iter().filter(|(slot, _)| slot.is_written()) {
        let size = spec.dtype_of(slot).map_or(4, DType::size);
        written::check(gpu, slot.name(), buffer, rows * spec.length_of(slot) * size, size, SENTINEL).await?;
    }
    copy.check(gpu).await?;
    let parameters = [spec.weight, spec.bias].into_iter().flatten().count() as u64 * spec.weight_length();
    Ok(object(&[
        ("latency_us", (single * 1e6).into()),
        ("norm_us", (norm * 1e6).into()),
        // Of a copy that is larger than a binding may be, a part was timed.
        ("copy_us", (copied * 1e6 * bytes as f64 / copy.traffic as f64).into()),
        ("bytes", (bytes as f64).into()),
        ("parameters", (parameters as f64).into()),
        ("clock", clock.name().into()),
        ("rung", prepared.plan().rung.name().into()),
        ("copy", copy.name.as_str().into()),
    ]))
}

/// What is timed.
struct Turns<'a> {
    clock: &'a Clock,
    prepared: &'a Prepared,
    rows: u64,
    copy: &'a Copy,
}

impl Turns<'_> {
    /// Seconds of one norm, recorded, submitted and waited for.
    async fn single(&self, budget: f64) -> Result<f64> {
        let clock = self.clock.by_wall();
        let record = |pass: &mut wgpu::ComputePass<'_>| self.prepared.record(pass, self.rows);
        // The first may find the device asleep.
        clock.time(record).await?;
        let once = clock.time(record).await?.whole;
        let mut times = vec![once];
        for _ in 1..(budget / once).clamp(SINGLES[0], SINGLES[1]) as usize {
            times.push(clock.time(record).await?.whole);
        }
        Ok(median(times).ok_or_else(no_time)?)
    }

    /// Seconds of one norm, and of one copy, of many in a submit.
    async fn batches(&self, budget: f64) -> Result<[f64; 2]> {
        let mut count = 1.0;
        let mut whole = self.norms(count).await?.whole;
        while whole < SUBMIT && count < MOST_REPETITIONS {
            count = (count * (SUBMIT / whole).clamp(2.0, 16.0)).ceil().min(MOST_REPETITIONS);
            whole = self.norms(count).await?.whole;
        }
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..(budget / (2.0 * whole)).clamp(SUBMITS[0], SUBMITS[1]) as usize {
            times[0].extend(self.norms(count).await?.work);
            times[1].extend(self.copies(count).await?.work);
        }
        let [norm, copy] = times.map(|times| median(times).map(|seconds| seconds / count).ok_or_else(no_time));
        Ok([norm?, copy?])
    }

    async fn norms(&self, count: f64) -> Result<Time> {
        Ok(self.clock.time(|pass| (0..count as u32).try_for_each(|_| self.prepared.record(pass, self.rows))).await?)
    }

    async fn copies(&self, count: f64) -> Result<Time> {
        let record = |pass: &mut wgpu::ComputePass<'_>| {
            (0..count as u32).for_each(|_| self.copy.record(pass));
            Ok(())
        };
        Ok(self.clock.time(record).await?)
    }
}

/// Bytes of an operand, where the norm has it.
fn size_of(spec: &NormSpec, slot: Slot, rows: u64) -> Option<u64> {
    let count = if slot.is_by_row() { rows } else { 1 };
    Some(count.saturating_mul(spec.dense_stride(slot)).saturating_mul(spec.dtype_of(slot)?.size()))
}

/// Refuses operands that no buffer of the device holds.
fn refuse_too_large(gpu: &Inner, spec: &NormSpec, rows: u64) -> Result<()> {
    let most = gpu.caps().max_buffer;
    for slot in Slot::ALL {
        let size = size_of(spec, slot, rows).unwrap_or(0);
        if size > most {
            let expected = format!("at most {most} bytes, which the device's buffers hold");
            return Err(Refused::Limit.because(slot.name(), &expected, &format!("{size} bytes"), "time fewer rows"));
        }
    }
    Ok(())
}

/// The operands on the device.
fn create_buffers(gpu: &Inner, spec: &NormSpec, rows: u64) -> BySlot<Buffer> {
    let mut buffers = BySlot::default();
    for slot in Slot::ALL {
        let Some(size) = size_of(spec, slot, rows) else { continue };
        let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(slot.name()),
            size: size.next_multiple_of(16),
            usage: BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        buffers.set(slot, Some(buffer));
    }
    buffers
}

/// Fills what is read with rows that repeat, and what is written with sentinels.
fn fill_all(gpu: &Inner, spec: &NormSpec, rows: u64, buffers: &BySlot<Buffer>) {
    let made_up_rows = (MADE_UP_ELEMENTS / spec.hidden).clamp(1, MADE_UP_ROWS).min(rows);
    let made_up = Data::new(spec, made_up_rows, Regime::Normal(1.0), Weights::Usual);
    for (slot, buffer) in buffers.iter() {
        match made_up.get(slot) {
            Some(values) => fill(gpu, buffer, values.as_slice().bytes()),
            None => fill(gpu, buffer, &[SENTINEL]),
        }
    }
}

/// Fills a buffer with a pattern that repeats.
fn fill(gpu: &Inner, buffer: &Buffer, pattern: &[u8]) {
    // Writes are of whole words.
    let piece = pattern.repeat(4 * (PIECE / (4 * pattern.len())).max(1));
    for start in (0..buffer.size()).step_by(piece.len()) {
        let length = (buffer.size() - start).min(piece.len() as u64) as usize;
        gpu.queue().write_buffer(buffer, start, &piece[..length]);
    }
}

async fn prepare(gpu: &Inner, spec: &NormSpec, buffers: &BySlot<Buffer>, rows: u64) -> Result<Prepared> {
    let (Some(input), Some(output)) = (buffers.get(Slot::Input), buffers.get(Slot::Output)) else { return Err(no_time().into()) };
    let operands = buffers.iter().fold(Operands::new(input, output), |all, (slot, buffer)| all.with(slot, buffer.into()));
    Ok(gpu.norm(*spec)?.prepare(&operands, rows).await?)
}

/// That the device's timestamps make no sense, whatever was timed.
fn no_time() -> Error {
    let message = "none of the device's timestamps made sense".into();
    Error::Wgpu { call: "resolve_query_set", message }
}
