//! Rows on their way from files to files.

use pollster::block_on;
use wgpu_rmsnorm::verify::{self, Outcome};
use wgpu_rmsnorm::{BySlot, Caps, Layout, Norm, NormSpec, Plan, Shard, Slot, Values};

use super::files::{Files, asked, shape};
use crate::definition::Definition;
use crate::failure::Failure;
use crate::tensor::{Sink, Source};
use crate::{operands, progress};

/// Bytes of input that go through the GPU at a time.
const BATCH_BYTES: u64 = 32 << 20;

/// What is done, ready to be done.
pub struct Job {
    /// What is computed.
    pub spec: NormSpec,
    /// The rows of the input.
    pub rows: u64,
    /// What has a row for each of the input's.
    sources: BySlot<Source>,
    /// What has values for channels alone.
    channels: BySlot<Values>,
    /// The input's dimensions.
    pub shape: Vec<u64>,
    /// The input's name, where it has one.
    pub name: Option<String>,
    /// Whether the input is rounded as it is read.
    pub is_rounded: bool,
}

impl Job {
    /// Opens what is read, and checks that it goes together; `spec` is the preset's norm of so many channels.
    pub fn new(files: &Files, definition: &Definition, caps: &Caps, spec: impl Fn(u64) -> NormSpec) -> Result<Self, Failure> {
        let mut sources = BySlot::default();
        for (slot, location) in files.iter().filter(|(slot, _)| !slot.is_written()) {
            let (dtype, flag) = asked(definition, slot);
            sources.set(slot, Some(Source::open(location, dtype, flag)?));
        }
        let dtype = |slot: Slot| sources.get(slot).map(|source| source.dtype);
        if definition.weight_dtype.is_some() && dtype(Slot::Weight).is_none() && dtype(Slot::Bias).is_none() {
            return Err(Failure::new("--weight-dtype: there is neither weight nor bias", "leave it out, or pass a --weight"));
        }
        let (input, name, is_rounded) = match sources.get(Slot::Input) {
            Some(source) => (source.shape.clone(), source.name.clone(), source.is_rounded()),
            None => (Vec::new(), None, false),
        };
        let hidden = input.last().copied().unwrap_or(0);
        let mut spec = spec(hidden);
        spec.input = dtype(Slot::Input).unwrap_or(spec.input);
        if files.stats {
            spec = spec.stats();
        }
        if let (Some(total), Some(statistics)) = (files.total, sources.get(Slot::Statistics)) {
            spec = spec.apply(total, statistics.shape.iter().rev().nth(1).copied().unwrap_or(0));
        }
        // Behind stats(), which takes them out: what is given and has no meaning is refused, and not left out.
        (spec.weight, spec.bias) = (dtype(Slot::Weight), dtype(Slot::Bias));
        spec.rstd = files.get(Slot::Rstd).is_some();
        let spec = definition.complete(spec, dtype(Slot::Residual), dtype(Slot::Gate))?;
        let rows = check(files, &spec, caps, &input, &sources)?;
        let mut channels = BySlot::default();
        for slot in [Slot::Weight, Slot::Bias] {
            let read = |source: Source| source.read_channels(slot.name(), spec.weight_length(), hidden);
            channels.set(slot, sources.take(slot).map(read).transpose()?);
        }
        Ok(Self { spec, rows, sources, channels, shape: input, name, is_rounded })
    }

    /// Reads, computes, checks and writes a batch of rows after the other.
    pub fn run(&mut self, norm: &Norm, sinks: &mut BySlot<Sink>, check: bool) -> Result<Option<Outcome>, Failure> {
        let row_bytes = self.spec.hidden * self.spec.input.size();
        let batch = (BATCH_BYTES / row_bytes).max(1);
        let mut outcome = check.then(Outcome::default);
        let bar = progress::of_bytes(self.rows * row_bytes);
        let mut left = self.rows;
        while left > 0 {
            let rows = left.min(batch);
            let mut values = self.channels.clone();
            for (slot, source) in self.sources.iter_mut() {
                values.set(slot, Some(source.read(rows * self.spec.length_of(slot))?));
            }
            let inputs = operands::inputs(&values);
            let result = block_on(norm.run_all(&inputs))?;
            if let Some(outcome) = &mut outcome {
                outcome.merge(&verify::check_all(&self.spec, &inputs, &result)?);
            }
            for (slot, sink) in sinks.iter_mut() {
                if let Some(values) = result.get(slot) {
                    sink.write(values.as_slice().bytes())?;
                }
            }
            left -= rows;
            bar.inc(rows * row_bytes);
        }
        bar.finish_and_clear();
        Ok(outcome)
    }
}

/// Checks everything that can be checked before elements are read, and returns the number of rows.
fn check(files: &Files, spec: &NormSpec, caps: &Caps, input: &[u64], sources: &BySlot<Source>) -> Result<u64, Failure> {
    let in_file = |error| match files.get(Slot::Input) {
        Some(location) => Failure::file(&location.file, error, format_args!("its shape is {input:?}")),
        None => Failure::from(error),
    };
    for (slot, source) in sources.iter().filter(|(slot, _)| slot.is_by_row() && *slot != Slot::Input) {
        let expected = shape(spec, slot, input);
        if let Some(location) = files.get(slot).filter(|_| source.shape != expected) {
            let has = if slot == Slot::Statistics { "have" } else { "has" };
            let problem = format!("the {slot} {has} shape {:?}, and the input {input:?}", source.shape);
            let remedy = match spec.shard {
                Some(Shard::Apply { .. }) if slot == Slot::Statistics => {
                    "stack what --stats wrote for each part: numpy.stack(parts, axis=-2)".to_owned()
                }
                _ => format!("pass a {slot} of the input's shape"),
            };
            return Err(Failure::file(&location.file, problem, remedy));
        }
    }
    files.check(spec)?;
    // A shape without a last dimension says so better than a hidden size of 0 would.
    let valid = if input.is_empty() { Ok(()) } else { spec.validate() };
    let rows = valid.and_then(|()| spec.rows_of(input)).map_err(in_file)?;
    // What no kernel can do is better known before it is read.
    Plan::new(spec, caps, &Layout::contiguous(spec, rows.min(1)), rows.min(1)).map_err(in_file)?;
    Ok(rows)
}
