//! Published definitions: where they round, what their weight means, which dtype their output has.

use std::fmt;
use std::str::FromStr;

use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::gate::Activation;
use crate::groups::WeightOf;
use crate::spec::NormSpec;

/// A published definition: a named point in the parameter space of [`NormSpec`].
///
/// All but the last compute `x · r` with `r = 1/sqrt(mean(x²) + eps)` in f32 and differ in where they round, in what the weight
/// means and in the output's dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// `round(x · r · w)`, one rounding, in the input's dtype. PyTorch's `F.rms_norm`, quack, flash-attn, FlashInfer, OLMo 2.
    Torch,
    /// `w · round(x · r)`: the normalised value is rounded to the input's dtype before the weight; the output has the dtype
    /// that input and weight promote to. Transformers' `LlamaRMSNorm` (Llama, Mistral, Qwen 2 and 3, Phi 3).
    Llama,
    /// `round(x · r · (1 + w))`, `1 + w` in f32: weights are stored around zero. Gemma, Qwen3-Next.
    Gemma,
    /// As `Llama`, but rounded to the *weight's* dtype, which the output has too; nothing is rounded and the output is f32
    /// where the weight is f32. Transformers' `T5LayerNorm`.
    T5,
    /// `round(x / sqrt(mean(x²) + eps)) · w`: ONNX `RMSNormalization` (opset 23), with the output in the scale's dtype.
    Onnx,
    /// LayerNorm, which takes the mean off first: `round((x - mean(x)) · r · w + b)` with `r = 1/sqrt(var(x) + eps)`. PyTorch's
    /// `F.layer_norm`.
    LayerNorm,
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 6] = [Preset::Torch, Preset::Llama, Preset::Gemma, Preset::T5, Preset::Onnx, Preset::LayerNorm];

    /// The preset's name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::Torch => "torch",
            Preset::Llama => "llama",
            Preset::Gemma => "gemma",
            Preset::T5 => "t5",
            Preset::Onnx => "onnx",
            Preset::LayerNorm => "layer_norm",
        }
    }

    /// The norm of `hidden` channels under this preset: f32 throughout, with a weight (LayerNorm: and a bias), until told
    /// otherwise.
    #[inline(never)]
    pub const fn spec(self, hidden: u64, eps: f32) -> NormSpec {
        let (weight_offset, cast, output) = match self {
            Preset::Torch | Preset::LayerNorm => (0.0, CastOrder::AfterWeight, OutputRule::Input),
            Preset::Llama => (0.0, CastOrder::ToInput, OutputRule::Promoted),
            Preset::Gemma => (1.0, CastOrder::AfterWeight, OutputRule::Input),
            Preset::T5 => (0.0, CastOrder::ToHalfWeight, OutputRule::HalfWeight),
            Preset::Onnx => (0.0, CastOrder::ToInput, OutputRule::Weight),
        };
        NormSpec {
            hidden,
            eps,
            input: DType::F32,
            weight: Some(DType::F32),
            weight_offset,
            bias: if matches!(self, Preset::LayerNorm) { Some(DType::F32) } else { None },
            weight_of: WeightOf::Row,
            centered: matches!(self, Preset::LayerNorm),
            groups: 1,
            statistics_length: None,
            residual: None,
            gate: None,
            activation: Activation::Silu,
            unrounded_sum: false,
            cast,
            output,
            rstd: false,
            quantized: None,
            shard: None,
            backward: None,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Preset::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
            let expected = Preset::ALL.map(Preset::name).join(", ");
            Error::Spec(Detail::new("preset", expected, format!("{name:?}"), "choose one of these"))
        })
    }
}

/// Whether the normalised value is rounded before the weight is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CastOrder {
    /// Only the result is rounded.
    AfterWeight,
    /// `x · r` is rounded to the input's dtype (a residual's, where one was added), then weighted.
    ToInput,
    /// `x · r` is rounded to the weight's dtype where that is f16 or bf16, then weighted.
    ToHalfWeight,
}

/// Which dtype the output has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputRule {
    /// The input's.
    Input,
    /// The weight's; the input's without one.
    Weight,
    /// The dtype that input and weight promote to.
    Promoted,
    /// The weight's where that is f16 or bf16, else f32.
    HalfWeight,
    /// This one.
    Is(DType),
}
