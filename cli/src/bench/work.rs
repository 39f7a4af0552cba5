//! The norms that are timed, with operands on the device and a check that they compute what they should.

use clap::ValueEnum;
use wgpu_rmsnorm::verify::{Data, Regime, Weights, check_all};
use wgpu_rmsnorm::wgpu::{self, Buffer, BufferUsages};
use wgpu_rmsnorm::{BySlot, DType, Force, Gpu, Inputs, NormSpec, Operands, Outputs, Prepared, Slot, Values};

use super::shape::Shape;
use crate::failure::Failure;

const EPS: f32 = 1e-5;
/// What outputs hold before: a number that no norm of these inputs gives eight times in a row.
const SENTINEL: u8 = 0xa5;
/// Rows of made-up data: they repeat, for making up all of a large tensor takes longer than timing its norm.
const MADE_UP_ROWS: u64 = 64;

/// Members of the family, by the library's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// RMSNorm
    Norm,
    /// LayerNorm, with a bias
    LayerNorm,
    /// A residual added to the input, the sum written back
    AddResidual,
    /// A residual added to the result
    ThenAddResidual,
    /// The result gated by SiLU
    GateOutput,
    /// The input gated by SiLU
    GateInput,
    /// The scale of each row written beside
    Rstd,
    /// int8 codes, by a scale of each row
    Quantized,
    /// Statistics of a shard
    Stats,
}

/// Dtypes of rows and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dtypes {
    /// f32
    F32,
    /// f16
    F16,
    /// bf16
    Bf16,
    /// bf16 rows, f32 weight
    Mixed,
}

impl Dtypes {
    pub fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }
}

impl Operation {
    pub fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().replace('-', "_"))
    }

    pub fn spec(self, hidden: u64, dtypes: Dtypes) -> NormSpec {
        let rows = match dtypes {
            Dtypes::F32 => DType::F32,
            Dtypes::F16 => DType::F16,
            Dtypes::Bf16 | Dtypes::Mixed => DType::BF16,
        };
        let norm = |spec: NormSpec| {
            let spec = spec.dtype(rows);
            // Codes have no other dtype.
            let spec = if self == Self::Quantized { spec } else { spec.output(rows) };
            if dtypes == Dtypes::Mixed { spec.weight(DType::F32) } else { spec }
        };
        let torch = norm(NormSpec::torch(hidden, EPS));
        match self {
            Self::Norm => torch,
            Self::LayerNorm => norm(NormSpec::layer_norm(hidden, EPS)),
            Self::AddResidual => torch.add_residual(rows),
            Self::ThenAddResidual => torch.then_add_residual(rows),
            Self::GateOutput => torch.gate_output(rows),
            Self::GateInput => torch.gate_input(rows),
            Self::Rstd => torch.rstd(),
            Self::Quantized => torch.quantized(DType::I8),
            Self::Stats => NormSpec::torch(hidden, EPS).dtype(rows).stats(),
        }
    }
}

/// A norm that is ready to be timed.
pub struct Work {
    pub prepared: Prepared,
    spec: NormSpec,
    rows: u64,
    /// The first rows of every input.
    made_up: Data,
    buffers: BySlot<Buffer>,
}

impl Work {
    pub fn new(gpu: &Gpu, spec: NormSpec, [rows, _]: Shape, force: Force) -> Result<Self, Failure> {
        let made_up = Data::new(&spec, rows.min(MADE_UP_ROWS), Regime::Normal(1.0), Weights::Usual);
        let mut buffers = BySlot::default();
        for slot in Slot::ALL {
            let Some(dtype) = spec.dtype_of(slot) else { continue };
            let count = if slot.is_by_row() { rows } else { 1 };
            let bytes = (count * spec.dense_stride(slot) * dtype.size()).next_multiple_of(16);
            let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some(slot.name()),
                size: bytes,
                usage: BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            let contents = match made_up.get(slot) {
                Some(values) => repeated(values.as_slice().bytes(), bytes as usize),
                None => vec![SENTINEL; bytes as usize],
            };
            gpu.queue().write_buffer(&buffer, 0, &contents);
            buffers.set(slot, Some(buffer));
        }
        let of = |slot: Slot| {
            let missing = || Failure::new(format_args!("the norm has no {slot}"), "report this");
            buffers.get(slot).ok_or_else(missing)
        };
        let operands = buffers
            .iter()
            .fold(Operands::new(of(Slot::Input)?, of(Slot::Output)?), |all, (slot, buffer)| all.with(slot, buffer.into()));
        let prepared = pollster::block_on(gpu.norm(spec)?.prepare_with(&operands, rows, force))?;
        Ok(Self { prepared, spec, rows, made_up, buffers })
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes moved: each operand once.
    pub fn bytes(&self) -> u64 {
        self.prepared.plan().bytes(self.rows)
    }

    /// Runs once and looks at what came: the first rows and the last are held to the error model, and all others must be theirs.
    pub fn check(&self, gpu: &Gpu) -> Result<(), Failure> {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        self.prepared.record_in(&mut encoder, self.rows)?;
        let index = gpu.queue().submit([encoder.finish()]);
        gpu.wait(index)?;
        let some = self.rows.min(MADE_UP_ROWS);
        let wrong = |what: String| Failure::wrong(what);
        let mut outputs: Option<Outputs> = None;
        for slot in Slot::ALL.into_iter().filter(|slot| slot.is_written()) {
            let (Some(dtype), Some(buffer)) = (self.spec.dtype_of(slot), self.buffers.get(slot)) else { continue };
            let row = (self.spec.dense_stride(slot) * dtype.size()) as usize;
            let bytes = gpu.read_blocking(buffer, 0..(self.rows as usize * row) as u64)?;
            // Rows repeat, and so must what becomes of them.
            let first = &bytes[..some as usize * row];
            let strange = bytes.chunks(first.len()).position(|rows| rows != &first[..rows.len()]);
            if let Some(index) = strange {
                return Err(wrong(format!(
                    "{slot}: among rows {} to {} one differs from an equal one",
                    index * some as usize,
                    self.rows
                )));
            }
            let values = Values::from_bytes(dtype, &unpadded(first, row, (self.spec.length_of(slot) * dtype.size()) as usize));
            outputs = Some(match outputs {
                None if slot == Slot::Output => Outputs::new(values),
                None => Outputs::new(Values::round_from(self.spec.output_dtype(), &[])).with(slot, Some(values)),
                Some(outputs) => outputs.with(slot, Some(values)),
            });
        }
        let Some(outputs) = outputs else { return Ok(()) };
        let inputs: Inputs<'_> = self.made_up.inputs();
        let outcome = check_all(&self.spec, &inputs, &outputs)?;
        if outcome.passed() { Ok(()) } else { Err(wrong(format!("{} elements are wrong", outcome.wrong))) }
    }
}

fn repeated(pattern: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = pattern.repeat(length.div_ceil(pattern.len().max(1)).max(1));
    bytes.truncate(length);
    bytes
}

fn unpadded(bytes: &[u8], row: usize, length: usize) -> Vec<u8> {
    bytes.chunks_exact(row).flat_map(|row| &row[..length]).copied().collect()
}
