//! The fused members of the family, and the same work apart.

use std::error::Error;

use wgpu_rmsnorm::{DType, Gpu, NormSpec, Operand, Operands, Prepared};

use super::apart::{Plain, Step};
use super::tensor::Tensor;

const EPS: f32 = 1e-6;
const HEAD: u64 = 128;

#[derive(Clone, Copy, PartialEq)]
pub enum Operation {
    AddNorm,
    NormAdd,
    NormGate,
    GateNorm,
    Heads,
    Codes,
    Rstd,
}

impl Operation {
    /// All of them, with the dtype of activations and weights, and that of the stream.
    pub const CASES: [(Operation, DType, DType); 8] = [
        (Operation::AddNorm, DType::BF16, DType::F32),
        (Operation::AddNorm, DType::F16, DType::F16),
        (Operation::NormAdd, DType::BF16, DType::F32),
        (Operation::NormGate, DType::F16, DType::F16),
        (Operation::GateNorm, DType::BF16, DType::BF16),
        (Operation::Heads, DType::BF16, DType::BF16),
        (Operation::Codes, DType::F16, DType::I8),
        (Operation::Rstd, DType::F16, DType::F32),
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Operation::AddNorm => "add, norm",
            Operation::NormAdd => "norm, add",
            Operation::NormGate => "norm, gate",
            Operation::GateNorm => "gate, norm",
            Operation::Heads => "QK heads",
            Operation::Codes => "int8 codes",
            Operation::Rstd => "rstd",
        }
    }

    /// What is computed, and the rows that are moved, a letter each time a tensor is read or written: fused, and apart by
    /// dispatch. Weights, and numbers of which a row has one, come on top.
    pub const fn formula(self) -> [&'static str; 3] {
        match self {
            Operation::AddNorm => ["s += x, y = norm(s)", "x+s+s+y", "(x+s+s)+(s+y)"],
            Operation::NormAdd => ["s += norm(x)", "x+s+s", "(x+t)+(t+s+s)"],
            Operation::NormGate => ["y = norm(x) · silu(z)", "x+z+y", "(x+t)+(t+z+y)"],
            Operation::GateNorm => ["y = norm(x · silu(z))", "x+z+y", "(x+z+t)+(t+y)"],
            Operation::Heads => ["q = norm(q), k = norm(k)", "q+k+q+k", "(q+q)+(k+k)"],
            Operation::Codes => ["c = norm(x) / scale", "x+c", "(x+t)+(t+c)"],
            Operation::Rstd => ["y = norm(x), rstd beside", "x+y", "(x+y)+(x)"],
        }
    }
}

/// Rows that a case writes, and how far apart the two ways may leave them, in units of the last place of a dtype.
pub struct Written {
    pub tensor: Tensor,
    pub unit: DType,
    pub limit: f64,
}

/// One operation on one shape, ready to be run either way.
pub struct Case {
    pub operation: Operation,
    pub shape: [u64; 2],
    /// The dtypes of its rows.
    pub dtypes: String,
    pub fused: Vec<Step>,
    pub apart: Vec<Step>,
    pub written: Vec<Written>,
}

impl Case {
    pub fn new(gpu: &Gpu, (operation, dtype, other): (Operation, DType, DType), shape: [u64; 2]) -> Result<Self, Box<dyn Error>> {
        let [rows, hidden] = shape;
        let norm = |spec: NormSpec, operands: Operands<'_>| -> Result<Step, Box<dyn Error>> {
            let prepared: Prepared = gpu.norm(spec)?.prepare_blocking(&operands, rows)?;
            Ok(Step::Norm(Box::new(prepared)))
        };
        let kernel = |plain, tensors: &[&Tensor]| Step::kernel(gpu, plain, EPS, tensors);
        let of = |dtype, scale, salt| Tensor::new(gpu, dtype, shape, scale, salt);
        let by_row = |salt| Tensor::new(gpu, DType::F32, [rows, 1], 1.0, salt);
        let spec = NormSpec::torch(hidden, EPS).dtype(dtype);
        let weight = Tensor::new(gpu, dtype, [1, hidden], 1.5, 1);
        let (w, x, between, y) = (&weight.buffer, of(dtype, 1.0, 2), of(dtype, 1.0, 3), of(dtype, 1.0, 4));
        // Apart, what is between two dispatches is rounded once more where they are not one definition's two steps.
        let written = |tensor: Tensor, limit| Written { unit: tensor.dtype, tensor, limit };
        let (fused, apart, written) = match operation {
            Operation::AddNorm => {
                let stream = of(other, 2.0, 5);
                let both = Operands::new(&x.buffer, &y.buffer).weight(w).residual_in_place(&stream.buffer);
                let alone = Operands::new(&stream.buffer, &y.buffer).weight(w);
                let fused = norm(spec.add_residual(other), both)?;
                let apart = vec![kernel(Plain::Add, &[&x, &stream])?, norm(spec.input(other).output(dtype), alone)?];
                (fused, apart, vec![written(stream, 1.0), written(y, 1.0)])
            }
            Operation::NormAdd => {
                let stream = of(other, 2.0, 5);
                let both = Operands::onto_residual(&x.buffer, &stream.buffer).weight(w);
                let fused = norm(spec.then_add_residual(other), both)?;
                let alone = Operands::new(&x.buffer, &between.buffer).weight(w);
                (fused, vec![norm(spec, alone)?, kernel(Plain::Add, &[&between, &stream])?], vec![written(stream, 1.0)])
            }
            Operation::NormGate => {
                // Llama's definition, and Qwen3-Next's gate: the norm's result is rounded before the gate.
                let (spec, gate) = (NormSpec::llama(hidden, EPS).dtype(dtype), of(dtype, 4.0, 5));
                let both = Operands::new(&x.buffer, &y.buffer).weight(w).gate(&gate.buffer);
                let fused = norm(spec.gate_output(dtype), both)?;
                let alone = Operands::new(&x.buffer, &between.buffer).weight(w);
                let apart = vec![norm(spec, alone)?, kernel(Plain::SiluMultiply, &[&between, &gate, &y])?];
                (fused, apart, vec![written(y, 1.0)])
            }
            Operation::GateNorm => {
                let gate = of(dtype, 4.0, 5);
                let both = Operands::new(&x.buffer, &y.buffer).weight(w).gate(&gate.buffer);
                let fused = norm(spec.gate_input(dtype), both)?;
                let alone = Operands::new(&between.buffer, &y.buffer).weight(w);
                let apart = vec![kernel(Plain::SiluMultiply, &[&x, &gate, &between])?, norm(spec, alone)?];
                (fused, apart, vec![written(y, 2.0)])
            }
            Operation::Heads => {
                // Queries, keys and as many values side by side; the first two replace themselves.
                let (heads, keys) = (hidden / HEAD, hidden / HEAD / 4);
                let queries = heads - keys;
                let projected = Tensor::new(gpu, dtype, [rows, hidden + keys * HEAD], 1.0, 5);
                let at =
                    |head: u64| Operand::new(&projected.buffer).offset(head * HEAD * dtype.size()).row_stride(projected.length);
                let weight_of = |range: u64| Operand::new(w).offset(range * HEAD * dtype.size());
                let fused = norm(spec.query_and_key_heads(queries, keys), Operands::in_place(at(0)).weight(w))?;
                let alone = |heads: u64| NormSpec::torch(heads * HEAD, EPS).dtype(dtype).heads(heads);
                let apart = vec![
                    norm(alone(queries), Operands::in_place(at(0)).weight(weight_of(0)))?,
                    norm(alone(keys), Operands::in_place(at(queries)).weight(weight_of(1)))?,
                ];
                (fused, apart, vec![written(projected, 0.0)])
            }
            Operation::Codes => {
                let (codes, scales) = (of(other, 1.0, 5), by_row(6));
                let both = Operands::new(&x.buffer, &codes.buffer).weight(w).scale(&scales.buffer);
                let fused = norm(spec.quantized(other), both)?;
                let alone = Operands::new(&x.buffer, &between.buffer).weight(w);
                let apart = vec![norm(spec, alone)?, kernel(Plain::Quantize, &[&between, &scales, &codes])?];
                // A scale is as good as the largest element between.
                let scales = Written { unit: dtype, ..written(scales, 1.0) };
                (fused, apart, vec![scales, written(codes, 1.0)])
            }
            Operation::Rstd => {
                let scales = by_row(6);
                let operands = Operands::new(&x.buffer, &y.buffer).weight(w);
                let fused = norm(spec.rstd(), operands.rstd(&scales.buffer))?;
                let apart = vec![norm(spec, operands)?, kernel(Plain::Rstd, &[&x, &scales])?];
                // A plain sum of f32 has an error of its own.
                (fused, apart, vec![written(scales, 8.0), written(y, 0.0)])
            }
        };
        let dtypes = if dtype == other { dtype.to_string() } else { format!("{dtype}, {other}") };
        Ok(Self { operation, shape, dtypes, fused: vec![fused], apart, written })
    }

    /// Bytes moved: fused and apart.
    pub fn bytes(&self) -> [u64; 2] {
        [&self.fused, &self.apart].map(|steps| steps.iter().map(|step| step.bytes(self.shape[0])).sum())
    }
}
