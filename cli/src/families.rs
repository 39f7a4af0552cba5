//! Which tensors of which models are the weights of RMSNorms. Names and definitions as in Transformers.

use wgpu_rmsnorm::Preset;

/// Models that name and define their norms alike.
#[derive(Debug)]
pub struct Family {
    /// The `model_type`s of their configurations.
    pub model_types: &'static [&'static str],
    /// How their norms are defined.
    pub preset: Preset,
    /// Under which names their configurations have the eps, the first that is there.
    pub eps_keys: &'static [&'static str],
    /// The weights, behind one of [`PREFIXES`]; `*` stands for a number.
    pub weights: &'static [&'static str],
}

/// What may stand before a weight's name: nothing, a language model, a language model within a larger one.
const PREFIXES: [&str; 5] = ["", "model.", "language_model.", "language_model.model.", "model.language_model."];

const EPS: &[&str] = &["rms_norm_eps"];
const BLOCK: &[&str] = &["layers.*.input_layernorm.weight", "layers.*.post_attention_layernorm.weight", "norm.weight"];
const BLOCK_WITH_QK: &[&str] = &[
    "layers.*.input_layernorm.weight",
    "layers.*.self_attn.q_norm.weight",
    "layers.*.self_attn.k_norm.weight",
    "layers.*.post_attention_layernorm.weight",
    "norm.weight",
];

/// All families that are known.
pub const FAMILIES: &[Family] = &[
    Family {
        model_types: &["llama", "mistral", "mistral3", "mixtral", "qwen2", "qwen2_moe", "phi3", "smollm3", "granite"],
        preset: Preset::Llama,
        eps_keys: EPS,
        weights: BLOCK,
    },
    Family { model_types: &["qwen3", "qwen3_moe"], preset: Preset::Llama, eps_keys: EPS, weights: BLOCK_WITH_QK },
    // Its gated norm (linear_attn.norm) is another operation, with weights around one.
    Family { model_types: &["qwen3_next"], preset: Preset::Gemma, eps_keys: EPS, weights: BLOCK_WITH_QK },
    Family { model_types: &["gemma"], preset: Preset::Gemma, eps_keys: EPS, weights: BLOCK },
    Family {
        model_types: &["gemma2", "gemma3", "gemma3_text"],
        preset: Preset::Gemma,
        eps_keys: EPS,
        weights: &[
            "layers.*.input_layernorm.weight",
            "layers.*.self_attn.q_norm.weight",
            "layers.*.self_attn.k_norm.weight",
            "layers.*.post_attention_layernorm.weight",
            "layers.*.pre_feedforward_layernorm.weight",
            "layers.*.post_feedforward_layernorm.weight",
            "norm.weight",
        ],
    },
    Family {
        model_types: &["olmo2"],
        preset: Preset::Torch,
        eps_keys: EPS,
        weights: &[
            "layers.*.self_attn.q_norm.weight",
            "layers.*.self_attn.k_norm.weight",
            "layers.*.post_attention_layernorm.weight",
            "layers.*.post_feedforward_layernorm.weight",
            "norm.weight",
        ],
    },
    Family {
        model_types: &["deepseek_v2", "deepseek_v3"],
        preset: Preset::Llama,
        eps_keys: EPS,
        weights: &[
            "layers.*.input_layernorm.weight",
            "layers.*.self_attn.q_a_layernorm.weight",
            "layers.*.self_attn.kv_a_layernorm.weight",
            "layers.*.post_attention_layernorm.weight",
            "norm.weight",
        ],
    },
    Family {
        model_types: &["t5", "mt5"],
        preset: Preset::T5,
        eps_keys: &["layer_norm_epsilon"],
        weights: &[
            "encoder.block.*.layer.*.layer_norm.weight",
            "encoder.final_layer_norm.weight",
            "decoder.block.*.layer.*.layer_norm.weight",
            "decoder.final_layer_norm.weight",
        ],
    },
];

/// The family of a `model_type`.
pub fn of(model_type: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.model_types.contains(&model_type))
}

/// Every model type that is known, for messages.
pub fn known() -> String {
    FAMILIES.iter().flat_map(|family| family.model_types).copied().collect::<Vec<_>>().join(", ")
}

/// Whether a tensor's name is one of these patterns behind one of the prefixes.
pub fn is_among(weights: &[&str], name: &str) -> bool {
    PREFIXES
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix))
        .any(|rest| weights.iter().any(|pattern| matches(pattern, rest)))
}

fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.split('.'), name.split('.'));
    loop {
        match (pattern.next(), name.next()) {
            (None, None) => return true,
            (Some("*"), Some(part)) if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) => {}
            (Some(expected), Some(part)) if expected == part => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let is = |model_type: &str, name: &str| is_among(of(model_type).unwrap().weights, name);
        for name in ["model.norm.weight", "norm.weight", "model.layers.31.input_layernorm.weight"] {
            assert!(is("llama", name) && is("mistral", name) && is("phi3", name) && is("gemma", name), "{name}");
        }
        assert!(is("qwen3", "model.layers.0.self_attn.q_norm.weight") && !is("llama", "model.layers.0.self_attn.q_norm.weight"));
        assert!(is("gemma3", "language_model.model.layers.7.pre_feedforward_layernorm.weight"));
        assert!(is("t5", "decoder.block.3.layer.2.layer_norm.weight"));
        for name in [
            "model.layers.0.linear_attn.norm.weight",
            "model.layers.x.input_layernorm.weight",
            "model.layers..input_layernorm.weight",
            "vision_model.encoder.layers.0.input_layernorm.weight",
            "model.norm.bias",
            "lm_head.weight",
            "",
        ] {
            assert!(FAMILIES.iter().all(|family| !is_among(family.weights, name)), "{name}");
        }
    }

    #[test]
    fn a_model_type_belongs_to_one_family() {
        let mut all: Vec<_> = FAMILIES.iter().flat_map(|family| family.model_types).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
