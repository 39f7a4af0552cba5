//! Faults of gradients.

use crate::Fault;

/// A fault that shows on every adapter.
const fn fault(name: &'static str, from: &'static str, to: &'static str, case: &'static str) -> Fault {
    Fault { name, from, to, case, shows_on: "" }
}

pub(crate) const FAULTS: &[Fault] = &[
    fault("what is along x not taken off", "- opaque(n * slope.along)", "", "backward: 96 f32"),
    fault(
        "the slope's mean over another length",
        "join_slope_lanes(slot, invocation) * INVERSE_LENGTH",
        "join_slope_lanes(slot, invocation) * (INVERSE_LENGTH * 1.0001)",
        "backward: 96 f32",
    ),
    fault("the level left out", "(g - vec4<f32>(slope.level))", "(g)", "backward: layer norm, 96 f32"),
    fault(
        "the last step of a slope left out",
        "let end = min((block + 1u) * BLOCK, rolled(SLOPE_STEPS));",
        "let end = min((block + 1u) * BLOCK, rolled(SLOPE_STEPS - 1u));",
        "backward: plain, 96 f32",
    ),
    fault("the last rows of a chain forgotten", "|| stop == team.rows", "", "backward: plain, 96 f32"),
    fault(
        "a chain that is not cleared",
        "                clear_sums(k);\n",
        "",
        "backward: I10, LayerNorm with a bias alone, 70000 rows",
    ),
    fault("the weight's gradient without its row's scale", "products_of(d, stored), d);", "d, d);", "backward: plain, 96 f32"),
    fault(
        "one weight for all channels",
        "channels_0 = channels_at(row, o + 0u * TEAM);",
        "channels_0 = channels_at(row, 0u);",
        "backward: plain, 96 f32",
    ),
    fault("a strip that is not gone on from", "let o = strip * STRIP * TEAM + lane;", "let o = lane;", "backward: 4096 f32"),
    fault("a slope without the row's scale", "opaque_one(mean * scale.factor)", "mean", "backward: plain, 96 f32"),
    fault(
        "no rescue of rows whose scale is extreme",
        "return bits < 0x35800000u || bits > 0x49800000u;",
        "return false;",
        "backward: plain f32, large rows and gradients, eps 0",
    ),
    fault(
        "the end of a row not stored",
        "_rest(row.output + i, found.input, 5u);",
        "_rest(row.output + i, found.input, 4u);",
        "backward: plain, 101 f32",
    ),
    fault(
        "half a word of the next row written over",
        "atomicAnd(&output_words[i], ~mask);",
        "atomicAnd(&output_words[i], 0u);",
        "backward: plain, 101 f16, I6, in place",
    ),
    fault(
        "what is there not added to",
        "sum = load_grad_weight(params.grad_weight_start + i) + sum;",
        "",
        "backward: accumulating, 96 f32",
    ),
    fault("what comes along the stream left out", "opaque(grad[0]) + s[0]", "opaque(grad[0])", "backward: stream, 96 f32"),
    fault(
        "g not rounded where the normalised value is",
        "cast_normalized(products_of(d, c.w))",
        "products_of(d, c.w)",
        "backward: llama, 96 f16",
    ),
    fault(
        "the weight's gradient by the value before it is rounded",
        "let stored = cast_normalized(n);",
        "let stored = n;",
        "backward: llama, 96 f16",
    ),
    fault(
        "a gated result not rounded in its gate's gradient",
        "cast_normed(Octet(product[0] + c.b[0], product[1] + c.b[1]))",
        "Octet(product[0] + c.b[0], product[1] + c.b[1])",
        "backward: gated output, llama, 96 bf16",
    ),
    fault(
        "the derivative of SiLU without its second term",
        "(vec4<f32>(1.0) + opaque(bounded * sigmoid_of(-bounded)))",
        "vec4<f32>(1.0)",
        "backward: gated input, 96 f32",
    ),
    fault(
        "a saved scale that f32 does not hold",
        "bits >= 0x0d800000u && bits < 0x71800000u",
        "bits < 0x7f800000u",
        "backward: saved rstd f32, mixed rows, ordinary gradients, eps 0",
    ),
    fault(
        "no rescue of huge gradients",
        "return peak >= SLOPE_LARGEST ||",
        "return false ||",
        "backward: layer norm f32, the largest gradients, eps 0",
    ),
    fault(
        "elements behind what is summed are summed",
        "return select(0u, SLOPE_LARGEST, far >= SLOPE_LARGEST);",
        "return 0u;",
        "backward: partial f32, far behind what is summed, eps 0",
    ),
    fault(
        "the mean taken off behind what is summed",
        "select(none, n[1], low + vec4<u32>(4u) < vec4<u32>(SUMMED))",
        "n[1]",
        "backward: partial, 96 f32",
    ),
    fault(
        "every chunk's first block is the first",
        "params.first_block + number / GROUPS",
        "number / GROUPS",
        "backward: plain f32, bindings of 16 KiB",
    ),
    fault(
        "groups that share a weight, less the last",
        "group < groups; group++",
        "group + 1u < groups; group++",
        "backward: heads, 96 f32",
    ),
    fault(
        "key heads counted among the query heads",
        "select(GROUPS, QUERY_HEADS, which == 1u)",
        "select(GROUPS, QUERY_HEADS + 1u, which == 1u)",
        "backward: query and key heads, 96 f32",
    ),
    fault(
        "a strand too few",
        "(blocks + length - 1u) / length",
        "(blocks + length - 1u) / length - 1u",
        "backward: I10, LayerNorm with a bias alone, 70000 rows",
    ),
];
