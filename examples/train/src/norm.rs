//! Norms as operations of candle: forward and backward pass on the GPU.

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Error, Layout, Result, Shape, Tensor};
use wgpu_rmsnorm::{Gpu, Inputs, Norm, NormSpec, Slot};

pub const EPS: f32 = 1e-5;

/// What stands before each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    RmsNorm,
    LayerNorm,
    None,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::RmsNorm => "RMSNorm",
            Kind::LayerNorm => "LayerNorm",
            Kind::None => "none",
        }
    }
}

/// A norm and its backward pass on a GPU. It is compiled once, and serves all layers.
#[derive(Clone)]
pub struct OnGpu {
    norm: Norm,
    backward: Norm,
}

impl OnGpu {
    pub fn new(gpu: &Gpu, kind: Kind, width: usize) -> wgpu_rmsnorm::Result<Self> {
        let spec = match kind {
            Kind::LayerNorm => NormSpec::layer_norm(width as u64, EPS),
            Kind::RmsNorm | Kind::None => NormSpec::torch(width as u64, EPS),
        };
        Ok(Self { norm: gpu.norm(spec)?, backward: gpu.norm(spec.backward())? })
    }

    pub fn rms_norm(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor> {
        x.apply_op2(weight, self.clone())
    }

    pub fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
        x.apply_op3(weight, bias, self.clone())
    }

    fn forward(&self, inputs: &Inputs<'_>, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let y: Vec<f32> = self.norm.run_blocking(inputs).map_err(Error::wrap)?;
        Ok((CpuStorage::F32(y), layout.shape().clone()))
    }

    /// The gradients of input, weight and bias.
    fn gradients(&self, x: &Tensor, weight: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let values = |tensor: &Tensor| tensor.flatten_all()?.to_vec1::<f32>();
        let (x_values, weight_values, grad_values) = (values(x)?, values(weight)?, values(grad)?);
        let inputs = Inputs::new(&x_values).weight(&weight_values).grad_output(&grad_values);
        let found = self.backward.run_all_blocking(&inputs).map_err(Error::wrap)?;
        let tensor = |slot: Slot, like: &Tensor| -> Result<Option<Tensor>> {
            let Some(values) = found.get(slot) else { return Ok(None) };
            let values: Vec<f32> = values.clone().into_vec().map_err(Error::wrap)?;
            Tensor::from_vec(values, like.shape(), like.device()).map(Some)
        };
        Ok([tensor(Slot::Output, x)?, tensor(Slot::GradWeight, weight)?, tensor(Slot::GradBias, weight)?])
    }
}

/// The elements of an operand, which must be dense.
fn elements<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(values), Some((start, end))) => Ok(&values[start..end]),
        _ => Err(Error::Msg("expected dense f32 tensors".into())),
    }
}

impl CustomOp2 for OnGpu {
    fn name(&self) -> &'static str {
        "rms-norm-wgpu"
    }

    fn cpu_fwd(&self, x: &CpuStorage, x_at: &Layout, weight: &CpuStorage, weight_at: &Layout) -> Result<(CpuStorage, Shape)> {
        self.forward(&Inputs::new(elements(x, x_at)?).weight(elements(weight, weight_at)?), x_at)
    }

    fn bwd(&self, x: &Tensor, weight: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let [grad_x, grad_weight, _] = self.gradients(x, weight, grad)?;
        Ok((grad_x, grad_weight))
    }
}

type Three = (Option<Tensor>, Option<Tensor>, Option<Tensor>);

impl CustomOp3 for OnGpu {
    fn name(&self) -> &'static str {
        "layer-norm-wgpu"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_at: &Layout,
        weight: &CpuStorage,
        weight_at: &Layout,
        bias: &CpuStorage,
        bias_at: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let inputs = Inputs::new(elements(x, x_at)?).weight(elements(weight, weight_at)?).bias(elements(bias, bias_at)?);
        self.forward(&inputs, x_at)
    }

    fn bwd(&self, x: &Tensor, weight: &Tensor, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Three> {
        let [grad_x, grad_weight, grad_bias] = self.gradients(x, weight, grad)?;
        Ok((grad_x, grad_weight, grad_bias))
    }
}
