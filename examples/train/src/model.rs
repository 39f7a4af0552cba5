//! The model: characters before, through a stack of residual blocks, to the next one.

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::loss::cross_entropy;
use candle_nn::ops::{layer_norm_slow, rms_norm_slow};

use crate::By;
use crate::norm::{EPS, Kind};
use crate::text::Batch;

/// Sizes.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Characters that are seen.
    pub context: usize,
    /// Channels of each.
    pub embedding: usize,
    /// Channels of the residual stream.
    pub width: usize,
    pub blocks: usize,
}

/// Weight and bias of a norm, and the two matrices behind it.
struct Block {
    weight: Var,
    bias: Var,
    up: Var,
    down: Var,
}

pub struct Model<'a> {
    kind: Kind,
    by: By<'a>,
    embedding: Var,
    entry: Var,
    blocks: Vec<Block>,
    last_weight: Var,
    last_bias: Var,
    exit: Var,
}

impl<'a> Model<'a> {
    /// The same weights for every kind of norm.
    pub fn new(shape: Shape, characters: usize, kind: Kind, by: By<'a>, seed: u64) -> Result<Self> {
        let dtype = if let By::Candle(dtype) = by { dtype } else { DType::F32 };
        let mut random = Random { state: seed, dtype };
        let width = shape.width;
        let seen = shape.context * shape.embedding;
        let ones = |length: usize| Var::ones(length, dtype, &Device::Cpu);
        let zeros = |length: usize| Var::zeros(length, dtype, &Device::Cpu);
        let embedding = random.matrix(characters, shape.embedding, 1.0)?;
        let entry = random.matrix(seen, width, (1.0 / seen as f64).sqrt())?;
        let block = |_| {
            Ok(Block {
                weight: ones(width)?,
                bias: zeros(width)?,
                up: random.matrix(width, 2 * width, (2.0 / width as f64).sqrt())?,
                down: random.matrix(2 * width, width, (1.0 / width as f64).sqrt())?,
            })
        };
        let blocks = (0..shape.blocks).map(block).collect::<Result<_>>()?;
        let exit = random.matrix(width, characters, (1.0 / width as f64).sqrt())?;
        Ok(Self { kind, by, embedding, entry, blocks, last_weight: ones(width)?, last_bias: zeros(width)?, exit })
    }

    /// Goes one step down the gradient and returns the loss before it.
    pub fn step(&mut self, batch: &Batch, rate: f64) -> Result<f64> {
        let loss = cross_entropy(&self.logits(&batch.before)?, &batch.next)?;
        let gradients = loss.backward()?;
        for var in self.parameters() {
            if let Some(gradient) = gradients.get(var) {
                var.set(&(var.as_tensor() - (gradient * rate)?)?)?;
            }
        }
        loss.to_dtype(DType::F64)?.to_scalar()
    }

    fn logits(&self, before: &Tensor) -> Result<Tensor> {
        let batch = before.dim(0)?;
        let seen = self.embedding.embedding(&before.flatten_all()?)?.reshape((batch, ()))?;
        let mut stream = seen.matmul(&self.entry)?;
        for block in &self.blocks {
            let normed = self.norm(&stream, &block.weight, &block.bias)?;
            stream = (stream + normed.matmul(&block.up)?.relu()?.matmul(&block.down)?)?;
        }
        self.norm(&stream, &self.last_weight, &self.last_bias)?.matmul(&self.exit)
    }

    fn norm(&self, x: &Tensor, weight: &Var, bias: &Var) -> Result<Tensor> {
        match (self.kind, self.by) {
            (Kind::RmsNorm, By::Library(gpu)) => gpu.rms_norm(x, weight),
            (Kind::RmsNorm, By::Candle(_)) => rms_norm_slow(x, weight, EPS),
            (Kind::LayerNorm, By::Library(gpu)) => gpu.layer_norm(x, weight, bias),
            (Kind::LayerNorm, By::Candle(_)) => layer_norm_slow(x, weight, bias, EPS),
            (Kind::None, _) => Ok(x.clone()),
        }
    }

    fn parameters(&self) -> impl Iterator<Item = &Var> {
        let ends = [&self.embedding, &self.entry, &self.last_weight, &self.last_bias, &self.exit];
        ends.into_iter().chain(self.blocks.iter().flat_map(|b| [&b.weight, &b.bias, &b.up, &b.down]))
    }
}

/// A small generator (splitmix64), so that every run begins alike on every machine, and in every dtype.
struct Random {
    state: u64,
    dtype: DType,
}

impl Random {
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// N(0, 1) times a scale, by the method of Box and Muller, in f32.
    fn matrix(&mut self, rows: usize, columns: usize, scale: f64) -> Result<Var> {
        let mut normal = || {
            let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
            (scale * radius * (std::f64::consts::TAU * self.uniform()).cos()) as f32
        };
        let values: Vec<f32> = (0..rows * columns).map(|_| normal()).collect();
        Var::from_tensor(&Tensor::from_vec(values, (rows, columns), &Device::Cpu)?.to_dtype(self.dtype)?)
    }
}
