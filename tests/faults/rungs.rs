//! Faults of what single rungs have: rows in registers, pieces of rows, subgroups, 64-bit words.

use crate::Fault;

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "an octet kept twice",
        from: "kept_1 = value_at(row, (1u) * 8u);",
        to: "kept_1 = value_at(row, 0u);",
        case: "registers: bias f16",
        shows_on: "",
    },
    Fault {
        name: "kept factors of another octet",
        from: "kept_weight_1 = weight_at(row, 8u);",
        to: "kept_weight_1 = weight_at(row, 0u);",
        case: "registers: weight offset f16",
        shows_on: "",
    },
    Fault {
        name: "a piece left out",
        from: "for (var whole = 0u; whole < BLOCKS / PIECE_BLOCKS; whole++)",
        to: "for (var whole = 1u; whole < BLOCKS / PIECE_BLOCKS; whole++)",
        case: "split: 5000 f16, offset 4, gap 4",
        shows_on: "",
    },
    Fault {
        name: "a smaller last piece taken for a whole one",
        from: "sum = joined_rest_levels();",
        to: "",
        case: "split: 5000 f16, offset 4, gap 4",
        shows_on: "",
    },
    Fault {
        name: "every piece writes the first slice",
        from: "let unit = (piece * OUTPUT_STEPS + step) * WIDTH + invocation;",
        to: "let unit = step * WIDTH + invocation;",
        case: "split: 5000 f16, offset 4, gap 4",
        shows_on: "",
    },
    Fault {
        name: "a level of a subgroup left out",
        from: "pair += subgroupShuffleXor(pair, 2u);",
        to: "",
        case: "reduction subgroup 1000 bf16",
        shows_on: "",
    },
    Fault {
        name: "one octet of factors for a whole subgroup",
        from: "min(step + subgroup_lane, OUTPUT_STEPS - 1u) * 8u",
        to: "step * 8u",
        case: "rung solo 1000 bf16",
        shows_on: "llvmpipe",
    },
    Fault {
        name: "half of a 64-bit word read twice",
        from: "u32(pair.x >> 32u)",
        to: "u32(pair.x)",
        case: "rung solo 1000 bf16",
        shows_on: "llvmpipe",
    },
    Fault {
        name: "the other half of a 64-bit word lost",
        from: "kept | (u64(word & mask) << shift)",
        to: "u64(word & mask) << shift",
        case: "registers: 44 f32, any finite, eps 0",
        shows_on: "llvmpipe",
    },
];
