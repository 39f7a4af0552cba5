//! Which norms there are.

use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::gate::Activation;
use crate::groups::WeightOf;
use crate::preset::OutputRule;
use crate::shard::Shard;
use crate::slot::Slot;
use crate::spec::NormSpec;

/// With a larger one, weights of any size might leave f32's range.
const LARGEST_OFFSET: f32 = 1e30;
/// Beyond it one over a scale is below the normal range: 2^126.
const LARGEST_SCALE: f32 = 8.507_059e37;
/// More parts than a row is ever cut into.
const MOST_SHARDS: u64 = 256;

impl NormSpec {
    /// Checks every field, and that they go together.
    ///
    /// # Errors
    /// [`Error::Spec`], naming the field: hidden 0 or beyond 2^32, an eps that is negative or not finite, a weight offset or a
    /// scale that is not finite, groups that do not divide the row, dtypes of codes for anything but quantised output, and
    /// combinations that have no one meaning.
    pub fn validate(&self) -> Result<()> {
        self.validate_numbers()?;
        self.validate_backward()?;
        self.validate_dtypes()?;
        self.validate_groups()?;
        self.validate_combination()
    }

    fn validate_backward(&self) -> Result<()> {
        let Some(backward) = &self.backward else { return Ok(()) };
        let forward = "make the backward pass of a norm by NormSpec::backward";
        for (argument, expected, actual, remedy, present) in [
            ("quantized", "none in a backward pass: codes have no gradient", "some", "leave it out", self.quantized.is_some()),
            ("shard", "a whole norm in a backward pass", "a part of one", "gather the rows", self.shard.is_some()),
            (
                "unrounded_sum",
                "a sum that was normalised as it was written back: a backward pass reads that",
                "one that was rounded to be written",
                "write the sum in f32, or leave NormSpec::unrounded out",
                self.unrounded_sum,
            ),
            ("residual", "none in a backward pass, which reads the sum as the input", "one", forward, self.residual.is_some()),
            ("rstd", "none that is written in a backward pass", "one", "read it by NormSpec::saved_rstd", self.rstd),
            (
                "saved_rstd",
                "none for a LayerNorm, whose mean is found again",
                "one",
                "leave it out",
                backward.saved_rstd && self.centered,
            ),
            ("grad_weight", "none without a weight", "one", forward, backward.grad_weight.is_some() && self.weight.is_none()),
            ("grad_bias", "none without a bias", "one", forward, backward.grad_bias.is_some() && self.bias.is_none()),
            (
                "grad_gate",
                "one where there is a gate, and nowhere else",
                "other",
                forward,
                backward.grad_gate.is_some() != self.gate.is_some(),
            ),
            (
                "accumulate",
                "gradients of weight or bias to add to",
                "none",
                "leave NormSpec::accumulate out",
                backward.accumulate && !self.has_parameter_gradients(),
            ),
        ] {
            if present {
                return wrong(argument, expected, actual, remedy);
            }
        }
        Ok(())
    }

    fn validate_numbers(&self) -> Result<()> {
        if self.hidden == 0 {
            return wrong("hidden", "at least 1", "0", "pass the length of the last dimension");
        }
        if self.hidden > u64::from(u32::MAX) {
            return wrong("hidden", "less than 2^32", self.hidden, "shard the row");
        }
        if !(self.eps.is_finite() && self.eps >= 0.0) {
            let remedy = "models use 1e-6 or 1e-5; see the checkpoint's config";
            return wrong("eps", "a finite number of at least 0", format!("{:?}", self.eps), remedy);
        }
        // A subnormal one may be flushed, and weights may be as small.
        let is_strange = self.weight_offset.is_nan() || self.weight_offset.is_subnormal();
        if is_strange || self.weight_offset.abs() > LARGEST_OFFSET {
            return wrong(
                "weight_offset",
                "0, or a number between 1.2e-38 and 1e30 of either sign",
                format!("{:?}", self.weight_offset),
                "use 0, or 1 for Gemma",
            );
        }
        match self.quantized.and_then(|quantized| quantized.scale) {
            Some(scale) if !(scale.is_normal() && scale > 0.0 && scale <= LARGEST_SCALE) => {
                wrong("scale", "a positive number between 1.2e-38 and 8.5e37", format!("{scale:?}"), "measure it on real results")
            }
            _ => Ok(()),
        }
    }

    fn validate_dtypes(&self) -> Result<()> {
        let remedy = "codes are written alone: ask for them with NormSpec::quantized";
        for slot in Slot::ALL.into_iter().filter(|slot| *slot != Slot::Output) {
            if let Some(dtype) = self.dtype_of(slot).filter(|dtype| dtype.is_code()) {
                return wrong(slot.name(), "f32, f16 or bf16", dtype.name(), remedy);
            }
        }
        if let Some(dtype) = self.backward.map(|backward| backward.grad_input).filter(|dtype| dtype.is_code()) {
            return wrong("grad_input", "f32, f16 or bf16", dtype.name(), remedy);
        }
        if self.norm_dtype().is_code() {
            return wrong("output", "f32, f16 or bf16", self.norm_dtype().name(), remedy);
        }
        match self.quantized {
            Some(quantized) if !quantized.dtype.is_code() => {
                let expected = DType::CODES.map(DType::name).join(" or ");
                wrong("quantized", &expected, quantized.dtype.name(), "other dtypes are set with NormSpec::output")
            }
            _ => Ok(()),
        }
    }

    fn validate_groups(&self) -> Result<()> {
        if self.groups == 0 || !self.hidden.is_multiple_of(self.groups) {
            let expected = format!("a number of groups, or heads, that divides hidden = {}", self.hidden);
            return wrong("groups", &expected, self.groups, "pass hidden as all channels of a row, those of all its heads");
        }
        if let WeightOf::QueryAndKey(query) = self.weight_of
            && (query == 0 || query >= self.groups)
        {
            let actual = format!("{query} query heads of {} heads", self.groups);
            return wrong(
                "query heads",
                "at least one query head and one key head",
                actual,
                "use NormSpec::heads where all heads share a weight",
            );
        }
        if let Some(length) = self.statistics_length
            && (length == 0 || length > self.group_length())
        {
            let expected = format!("between 1 and {} channels", self.group_length());
            return wrong("statistics_length", &expected, length, "pass the number of channels that the statistic is made of");
        }
        if self.quantized.is_some() && self.groups > 1 && !self.group_length().is_multiple_of(4) {
            let expected = "groups of a multiple of 4 channels where the output is quantised, four codes a word";
            return wrong("groups", expected, format!("{} channels", self.group_length()), "quantise the whole row");
        }
        Ok(())
    }

    /// Combinations without a meaning, or with two.
    fn validate_combination(&self) -> Result<()> {
        let apart = "compute one of them by a norm of its own";
        let gates_last = self.output_gate().is_some();
        if self.gate.is_some() && self.residual.is_some() && (self.adds_after() || !gates_last) {
            let expected = "a residual that is added before and a gate on the output, where there are both";
            let actual = match (self.adds_after(), gates_last) {
                (true, true) => "a residual that is added after, and a gate on the output",
                (true, false) => "a residual that is added after, and a gate on the input",
                _ => "a residual that is added before, and a gate on the input",
            };
            return wrong("gate", expected, actual, apart);
        }
        if self.gates_input() && self.statistics_length() < self.group_length() {
            let remedy = "gate by a kernel of its own, or make the statistic of all channels";
            return wrong("statistics_length", "none where a gate multiplies the input", "some", remedy);
        }
        if self.centered && self.statistics_length.is_some() {
            return wrong("statistics_length", "none for a LayerNorm", "some", "leave it out, or use an RMSNorm");
        }
        if self.activation != Activation::Silu && self.gate.is_none() {
            return wrong("activation", "a gate that opens by it", "none", "add one with gate_input or gate_output");
        }
        if self.unrounded_sum && self.residual_out_dtype().is_none() {
            return wrong("unrounded_sum", "a residual that is added before the norm", "none", "add one with add_residual");
        }
        if self.quantized.is_some() && self.output_gate().is_none() && matches!(self.output, OutputRule::Is(_)) {
            let expected = "no dtype of its own where the output is in codes: they are of the result in f32";
            return wrong("output", expected, self.norm_dtype().name(), "leave NormSpec::output out");
        }
        if self.quantized.is_some() && self.adds_after() {
            return wrong("quantized", "no residual that is added to the result", "one", apart);
        }
        let Some(shard) = self.shard else { return Ok(()) };
        let whole = "leave it to a norm of whole rows";
        let before = "compute it by a kernel of its own, before";
        for (argument, expected, actual, remedy, present) in [
            (
                "centered",
                "no mean taken off in a sharded norm, whose statistics are sums of squares",
                "LayerNorm",
                whole,
                self.centered,
            ),
            ("groups", "1 in a sharded norm: a group is no part of a longer one", "several", whole, self.groups > 1),
            ("statistics_length", "none in a sharded norm", "some", whole, self.statistics_length.is_some()),
            (
                "residual",
                "none before a sharded norm, which reads its rows twice",
                "one",
                before,
                self.residual_out_dtype().is_some(),
            ),
            ("gate", "none before a sharded norm, which reads its rows twice", "one", before, self.gates_input()),
            (
                "quantized",
                "a given scale in a sharded norm, whose part has no largest result of the row",
                "none",
                "use quantized_by",
                self.writes_scale(),
            ),
        ] {
            if present {
                return wrong(argument, expected, actual, remedy);
            }
        }
        match shard {
            Shard::Stats => {
                let later = [
                    ("weight", self.weight.is_some()),
                    ("bias", self.bias.is_some()),
                    ("residual", self.residual.is_some()),
                    ("gate", self.gate.is_some()),
                    ("rstd", self.rstd),
                    ("quantized", self.quantized.is_some()),
                ];
                match later.into_iter().find(|(_, present)| *present) {
                    Some((argument, _)) => {
                        wrong(argument, "none for stats", "one", "give it to the norm that applies the statistics")
                    }
                    None => Ok(()),
                }
            }
            Shard::Apply { total, shards } => {
                if shards == 0 || shards > MOST_SHARDS {
                    return wrong("shards", &format!("between 1 and {MOST_SHARDS}"), shards, "pass the number of parts of a row");
                }
                if total < self.hidden || total > u64::from(u32::MAX) {
                    let expected = format!("at least the {} channels of the part, and less than 2^32", self.hidden);
                    return wrong("total", &expected, total, "pass the channels of all parts together");
                }
                Ok(())
            }
        }
    }
}

fn wrong(argument: &str, expected: &str, actual: impl ToString, remedy: &str) -> Result<()> {
    Err(Error::Spec(Detail::new(argument, expected, actual.to_string(), remedy)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_go_together_is_named() {
        let spec = NormSpec::torch(12, 1e-6);
        let f32 = DType::F32;
        for (spec, argument) in [
            (spec.groups(5), "groups"),
            (spec.groups(0), "groups"),
            (spec.query_and_key_heads(0, 4), "query heads"),
            (spec.query_and_key_heads(4, 0), "query heads"),
            (spec.query_and_key_heads(u64::MAX, 1), "groups"),
            (spec.partial(0), "statistics_length"),
            (spec.groups(2).partial(7), "statistics_length"),
            (NormSpec::layer_norm(12, 1e-6).partial(3), "statistics_length"),
            (spec.add_residual(f32).gate_input(f32), "gate"),
            (spec.then_add_residual(f32).gate_output(f32), "gate"),
            (spec.partial(4).gate_input(f32), "statistics_length"),
            (spec.weight_offset(1e31), "weight_offset"),
            (spec.weight_offset(1e-40), "weight_offset"),
            (spec.quantized(f32), "quantized"),
            (spec.quantized(DType::I8).then_add_residual(f32), "quantized"),
            (spec.sigmoid(), "activation"),
            (spec.unrounded(), "unrounded_sum"),
            (spec.then_add_residual(f32).unrounded(), "unrounded_sum"),
            (spec.quantized(DType::I8).output(f32), "output"),
            (spec.quantized_by(DType::I8, 0.0), "scale"),
            (spec.quantized_by(DType::I8, f32::NAN), "scale"),
            (spec.quantized_by(DType::I8, f32::MAX), "scale"),
            (spec.groups(2).quantized(DType::I8), "groups"),
            (spec.input(DType::I8), "input"),
            (spec.output(DType::F8E4M3), "output"),
            (spec.stats().weight(f32), "weight"),
            (spec.stats().rstd(), "rstd"),
            (spec.apply(11, 1), "total"),
            (spec.apply(12, 0), "shards"),
            (spec.apply(24, 2).quantized(DType::I8), "quantized"),
            (NormSpec::layer_norm(12, 1e-6).apply(24, 2), "centered"),
        ] {
            let error = spec.validate().unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid norm: {argument}: ")), "{argument}: {error}");
        }
        let bf16 = DType::BF16;
        for (backward, argument) in [
            (spec.quantized(DType::I8).backward(), "quantized"),
            (spec.stats().backward(), "shard"),
            (spec.apply(24, 2).backward(), "shard"),
            (spec.add_residual(bf16).unrounded().backward(), "unrounded_sum"),
            (NormSpec::layer_norm(12, 1e-6).backward().saved_rstd(), "saved_rstd"),
            (spec.without_weight().backward().accumulate(), "accumulate"),
            (spec.backward().rstd(), "rstd"),
            (spec.backward().add_residual(f32), "residual"),
            (spec.backward().gate_input(f32), "grad_gate"),
            (spec.backward().parameter_gradients(DType::I8), "grad_weight"),
        ] {
            let error = backward.validate().unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid norm: {argument}: ")), "{argument}: {error}");
        }
        // In f32 a sum is written back as it was normalised; and a backward pass is its own.
        spec.add_residual(f32).unrounded().backward().validate().unwrap();
        assert_eq!(spec.backward().backward(), spec.backward());
        for fine in [
            spec.groups(3).partial(4).gate_output(f32),
            spec.add_residual(f32).gate_output(f32).quantized(DType::I8).rstd(),
            NormSpec::layer_norm(12, 1e-6).heads(3).gate_input(f32),
            spec.apply(24, 2).then_add_residual(f32).rstd(),
            spec.stats(),
        ] {
            fine.validate().unwrap();
        }
    }
}
