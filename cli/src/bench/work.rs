//! The norms that are timed, with operands on the device and a check that they compute what they should.

use std::ops::Range;

use pollster::block_on;
use wgpu_rmsnorm::verify::{Data, Regime, Weights, check_all};
use wgpu_rmsnorm::wgpu::{self, Buffer, BufferUsages};
use wgpu_rmsnorm::{BySlot, Error, Force, Gpu, NormSpec, Operands, Outputs, Prepared, Shard, Slot, Values, reference};

use super::shape::Shape;
use crate::failure::Failure;

/// What outputs hold before: a number that no norm of these inputs gives eight times in a row.
const SENTINEL: u8 = 0xa5;
/// Rows and elements of made-up data: they repeat, for making up all of a large tensor takes longer than timing its norm.
const MADE_UP_ROWS: u64 = 64;
const MADE_UP_ELEMENTS: u64 = 1 << 20;
/// Bytes that go to the device or come from it in one piece, about: the host shall not hold a second copy of a large tensor.
const PIECE: u64 = 16 << 20;

/// A norm that is ready to be timed.
pub struct Work {
    pub prepared: Prepared,
    spec: NormSpec,
    rows: u64,
    /// The first rows of every input.
    made_up: Data,
    made_up_rows: u64,
    buffers: BySlot<Buffer>,
}

/// Why a norm did not get ready.
pub enum Unready {
    /// The device is too small for it.
    TooLarge(Failure),
    /// Anything else.
    Refused(Failure),
}

impl From<Unready> for Failure {
    fn from(unready: Unready) -> Self {
        match unready {
            Unready::TooLarge(failure) | Unready::Refused(failure) => failure,
        }
    }
}

impl From<Error> for Unready {
    fn from(error: Error) -> Self {
        match error {
            Error::Limit(_) | Error::OutOfMemory { .. } => Self::TooLarge(error.into()),
            _ => Self::Refused(error.into()),
        }
    }
}

impl Work {
    pub fn new(gpu: &Gpu, spec: NormSpec, [rows, hidden]: Shape, force: Force) -> Result<Self, Unready> {
        let made_up_rows = (MADE_UP_ELEMENTS / hidden).clamp(1, MADE_UP_ROWS).min(rows);
        let made_up = Data::new(&spec, made_up_rows, Regime::Normal(1.0), Weights::Usual);
        let mut buffers = BySlot::default();
        for slot in Slot::ALL {
            let Some(dtype) = spec.dtype_of(slot) else { continue };
            let count = if slot.is_by_row() { rows } else { 1 };
            let buffer = new_buffer(gpu, slot, (count * spec.dense_stride(slot) * dtype.size()).next_multiple_of(16))?;
            match made_up.get(slot) {
                Some(values) => fill(gpu, &buffer, values.as_slice().bytes())?,
                None => fill(gpu, &buffer, &[SENTINEL])?,
            }
            buffers.set(slot, Some(buffer));
        }
        let of = |slot: Slot| {
            let missing = || Unready::Refused(Failure::new(format_args!("the norm has no {slot}"), "report this"));
            buffers.get(slot).ok_or_else(missing)
        };
        let operands = buffers
            .iter()
            .fold(Operands::new(of(Slot::Input)?, of(Slot::Output)?), |all, (slot, buffer)| all.with(slot, buffer.into()));
        let prepared = block_on(gpu.norm(spec)?.prepare_with(&operands, rows, force))?;
        Ok(Self { prepared, spec, rows, made_up, made_up_rows, buffers })
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The buffers of all operands.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.iter().map(|(_, buffer)| buffer)
    }

    /// Rung and workgroup, in words.
    pub fn plan_in_words(&self) -> String {
        let plan = self.prepared.plan();
        format!("{} {} x {} x {}", plan.rung.name(), plan.width, plan.rows_at_once, plan.rounds)
    }

    /// Bytes moved: each operand once.
    pub fn bytes(&self) -> u64 {
        self.prepared.plan().bytes(self.rows)
    }

    /// Runs once and looks at what came: the first rows are held to the error model, and all others must be theirs. Returns the
    /// largest distance of a result to float64; `None` of codes and statistics, which are no results.
    pub fn check(&self, gpu: &Gpu) -> Result<Option<f64>, Failure> {
        self.run(gpu, self.rows)?;
        let mut outputs = Outputs::new(Values::round_from(self.spec.output_dtype(), &[]));
        for slot in Slot::ALL.into_iter().filter(|slot| slot.is_written() && slot.is_by_row()) {
            let (Some(dtype), Some(buffer)) = (self.spec.dtype_of(slot), self.buffers.get(slot)) else { continue };
            let row = self.spec.dense_stride(slot) * dtype.size();
            let first = self.repeating_rows(gpu, slot, buffer, row)?;
            let unpadded = unpadded(&first, row as usize, (self.spec.length_of(slot) * dtype.size()) as usize);
            outputs = outputs.with(slot, Some(Values::from_bytes(dtype, &unpadded)));
        }
        if self.spec.backward.is_some() {
            // Sums over all rows are none of the first: those are found by themselves.
            self.run(gpu, self.made_up_rows)?;
            for slot in Slot::ALL.into_iter().filter(|slot| slot.is_parameter_gradient()) {
                let (Some(dtype), Some(buffer)) = (self.spec.dtype_of(slot), self.buffers.get(slot)) else { continue };
                let sums = gpu.read_blocking(buffer, 0..self.spec.length_of(slot) * dtype.size())?;
                outputs = outputs.with(slot, Some(Values::from_bytes(dtype, &sums)));
            }
        }
        let inputs = self.made_up.inputs();
        let outcome = check_all(&self.spec, &inputs, &outputs)?;
        if !outcome.passed() {
            return Err(Failure::wrong(format_args!("{} elements are wrong", outcome.wrong)));
        }
        if self.spec.shard == Some(Shard::Stats) || self.spec.output_dtype().is_code() {
            return Ok(None);
        }
        let truth = match self.spec.backward {
            Some(_) => reference::gradients(&self.spec, &inputs)?.input,
            None => reference::norm(&self.spec, &inputs)?,
        };
        let got = outputs.output().as_slice().widen();
        Ok(Some(got.iter().zip(&truth).fold(0.0, |most: f64, (got, truth)| most.max((got - truth).abs()))))
    }

    /// Runs once on the first rows.
    fn run(&self, gpu: &Gpu, rows: u64) -> Result<(), Failure> {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        self.prepared.record_in(&mut encoder, rows)?;
        let index = gpu.queue().submit([encoder.finish()]);
        gpu.wait(index)?;
        Ok(())
    }

    /// The first rows of what was written. Rows of the inputs repeat, and so must what becomes of them.
    fn repeating_rows(&self, gpu: &Gpu, slot: Slot, buffer: &Buffer, row: u64) -> Result<Vec<u8>, Failure> {
        let (period, size) = (self.made_up_rows * row, self.rows * row);
        let first = gpu.read_blocking(buffer, 0..period)?;
        for piece in pieces(period, size) {
            let bytes = gpu.read_blocking(buffer, piece.clone())?;
            let strange = bytes.chunks(first.len()).position(|rows| rows != &first[..rows.len()]);
            if let Some(index) = strange {
                let row = piece.start / row + index as u64 * self.made_up_rows;
                return Err(Failure::wrong(format_args!(
                    "{slot}: among rows {row} to {} one differs from an equal one",
                    (row + self.made_up_rows).min(self.rows)
                )));
            }
        }
        Ok(first)
    }
}

fn new_buffer(gpu: &Gpu, slot: Slot, bytes: u64) -> Result<Buffer, Unready> {
    let remedy = "choose a smaller shape";
    let most = gpu.caps().max_buffer;
    if bytes > most {
        let problem = format!("{slot}: expected at most the {most} bytes of a buffer of this device, got {bytes}");
        return Err(Unready::TooLarge(Failure::new(problem, remedy)));
    }
    let scope = gpu.device().push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some(slot.name()),
        size: bytes,
        usage: BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    match block_on(scope.pop()) {
        None => Ok(buffer),
        Some(_) => {
            let problem = format!("{slot}: the device has no memory for a buffer of {bytes} bytes");
            Err(Unready::TooLarge(Failure::new(problem, remedy)))
        }
    }
}

/// Fills a buffer with a pattern that repeats.
fn fill(gpu: &Gpu, buffer: &Buffer, pattern: &[u8]) -> Result<(), Error> {
    let pieces = pieces(pattern.len() as u64, buffer.size());
    let longest = pieces.first().map_or(0, |piece| (piece.end - piece.start) as usize);
    let contents: Vec<u8> = pattern.iter().copied().cycle().take(longest).collect();
    for piece in pieces {
        gpu.queue().write_buffer(buffer, piece.start, &contents[..(piece.end - piece.start) as usize]);
        // What is written waits in the host's memory until something is submitted.
        let index = gpu.queue().submit([]);
        gpu.wait(index)?;
    }
    Ok(())
}

/// Cuts a buffer into pieces that begin with a period and, as copies must, with a whole word.
fn pieces(period: u64, size: u64) -> Vec<Range<u64>> {
    let piece = period * (PIECE / period).max(1).next_multiple_of(4);
    (0..size).step_by(piece as usize).map(|start| start..(start + piece).min(size)).collect()
}

fn unpadded(bytes: &[u8], row: usize, length: usize) -> Vec<u8> {
    bytes.chunks_exact(row).flat_map(|row| &row[..length]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_begin_with_a_period_and_a_word() {
        for (period, size) in [(1, 16), (198, 4000), (3 << 20, 100 << 20), (50 << 20, 230 << 20)] {
            let pieces = pieces(period, size);
            assert!(pieces.iter().all(|piece| piece.start % period == 0 && piece.start % 4 == 0), "{pieces:?}");
            assert_eq!(pieces.iter().map(|piece| piece.end - piece.start).sum::<u64>(), size);
            assert_eq!(pieces.last().unwrap().end, size);
        }
    }
}
