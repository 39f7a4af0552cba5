//! The text itself: parts, constants, bindings, and the tree that joins the blocks of a lane.

use std::fmt::{Arguments, Write as _};

use super::{Bound, bound_by, is_atomic, words};
use crate::groups::WeightOf;
use crate::plan::{BLOCK, Binding, Plan, ROW_DIGITS, SharedWords};
use crate::slot::Slot;

#[derive(Default)]
pub(super) struct Text(pub String);

impl Text {
    pub fn add(&mut self, part: &str) {
        self.0.push_str(part);
        self.0.push('\n');
    }

    pub fn add_for(&mut self, part: &str, names: &[(&str, &str)]) {
        let named = names.iter().fold(part.to_owned(), |text, (word, name)| text.replace(word, name));
        self.add(&named);
    }

    pub fn line(&mut self, line: Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }

    pub fn unsigned(&mut self, constants: &[(&str, u64)]) {
        for (name, value) in constants {
            self.line(format_args!("const {name}: u32 = {value}u;"));
        }
    }

    pub fn constants(&mut self, plan: &Plan) {
        let (order, spec) = (&plan.order, &plan.spec);
        let width = u64::from(plan.width);
        let slot_pairs = order.octet_lanes().max(8);
        let query_heads = if let WeightOf::QueryAndKey(query) = spec.weight_of { query } else { 0 };
        // Sums beside that of the squares: a mean takes one more, and slopes as many again.
        let regions = (1 + u64::from(spec.centered)) * (1 + u64::from(spec.backward.is_some()));
        self.unsigned(&[
            ("HIDDEN", order.hidden),
            ("GROUPS", spec.groups),
            ("QUERY_HEADS", query_heads),
            ("SHARDS", spec.shards().unwrap_or(0)),
            ("SUMMED_OCTETS", order.summed_octets()),
            ("OCTETS", order.octets()),
            ("OCTET_LANES", order.octet_lanes()),
            ("FULL_STEPS", order.full_steps()),
            ("STEPS", order.steps()),
            ("BLOCK", BLOCK),
            ("BLOCKS", order.blocks()),
            ("WIDTH", width),
            ("ROWS_AT_ONCE", plan.rows_at_once.into()),
            ("ROUNDS", plan.rounds.into()),
            ("WORKGROUP_SIZE", plan.workgroup_size().into()),
            ("INPUT_STEPS", order.octets().div_ceil(width)),
            ("OUTPUT_STEPS", order.whole_octets().div_ceil(width).div_ceil(plan.pieces.into())),
            ("PIECES", plan.pieces.into()),
            ("PIECE_BLOCKS", plan.piece_blocks.into()),
            ("BLOCK_TURNS", order.blocks() * order.octet_lanes().div_ceil(width)),
            ("SLOT_PAIRS", slot_pairs),
            ("LANE_PAIRS", slot_pairs * u64::from(plan.rows_at_once) * regions),
        ]);
        if let SharedWords::InTurns(rows) = plan.shared_words {
            self.unsigned(&[("TOGETHER", rows), ("TOGETHER_STEP", plan.elements_of_a_double() / rows)]);
        }
        // 1 / (what the mean is over) as a sum of two f32.
        let exact = 1.0 / spec.mean_length() as f64;
        let inverse = exact as f32;
        let inverse_low = (exact - f64::from(inverse)) as f32;
        for (name, value) in [("INVERSE_LENGTH", inverse), ("INVERSE_LENGTH_LOW", inverse_low)] {
            self.line(format_args!("const {name}: f32 = {value:e}f;"));
        }
        for (slot, absent) in [(Slot::Weight, "1.0"), (Slot::Bias, "0.0")] {
            self.line(format_args!("const ABSENT_{slot}: f32 = {absent};"));
        }
        if let Some(quantized) = spec.quantized {
            self.line(format_args!("const LARGEST_CODE: f32 = {:?};", quantized.dtype.largest()));
        }
        if spec.writes_scale() {
            self.line(format_args!("const PRODUCT_WILL_DO: bool = {};", spec.largest_product_will_do()));
        }
        self.0.push('\n');
    }

    pub fn bindings(&mut self, plan: &Plan, bindings: &[Binding], has_scratch: bool) {
        for (at, bound) in bound_by(bindings, has_scratch).into_iter().enumerate() {
            let variable = match bound {
                Bound::Params => "var<uniform> params: Params".to_owned(),
                Bound::RowDigit(digit) => format!("var<uniform> row_digit_{digit}: Digit"),
                Bound::Scratch => "var<storage, read_write> scratch: array<Octet>".to_owned(),
                Bound::Storage(index) => {
                    let binding = &bindings[index];
                    let access = if binding.writable { "read_write" } else { "read" };
                    let element = match () {
                        () if is_atomic(plan, binding) => "atomic<u32>",
                        () if binding.words == 4 && plan.caps.long_words => "vec2<u64>",
                        () if binding.words == 4 => "vec4<u32>",
                        () if binding.words == 2 => "u64",
                        () => "u32",
                    };
                    format!("var<storage, {access}> {}: array<{element}>", words(binding))
                }
            };
            self.line(format_args!("@group(0) @binding({at}) {variable};"));
        }
        self.0.push('\n');
    }

    pub fn row_count(&mut self) {
        let digits: Vec<_> = (0..ROW_DIGITS).map(|d| format!("(row_digit_{d}.value << {}u)", 8 * d)).collect();
        self.line(format_args!("// Rows of the chunk that this recording covers.\nfn row_count() -> u32 {{"));
        self.line(format_args!("    return {};\n}}\n", digits.join(" | ")));
    }

    /// The tree over the blocks of a lane, as a binary counter of partial sums: level k holds the sum of 2^k blocks. An array of levels
    /// would need no text of its own, but local arrays indexed by a variable are what old shader compilers give up on (case O2).
    pub fn levels(&mut self, name: &str, blocks: u64) {
        self.join_levels(name, blocks);
        self.joined_levels(&format!("{name}levels()"), name, blocks, "");
    }

    /// The levels, and the function that adds a block to them.
    pub fn join_levels(&mut self, name: &str, blocks: u64) {
        let top = blocks.max(1).ilog2();
        for level in 0..=top {
            self.line(format_args!("var<private> {name}level_{level}: Octet;"));
        }
        self.line(format_args!(
            "\n// Adds a block: a carry runs up while levels are taken.\nfn join_{name}levels(block: u32, sum: Octet) {{"
        ));
        self.line(format_args!("    var carry = sum;"));
        for level in 0..top {
            self.line(format_args!(
                "    if ((block & {}u) == 0u) {{\n        {name}level_{level} = carry;\n        return;\n    }}",
                1u64 << level
            ));
            self.line(format_args!("    carry = {name}level_{level} + carry;"));
        }
        self.line(format_args!("    {name}level_{top} = carry;\n}}\n"));
    }

    /// The function that joins the levels of any number of blocks up to `most`.
    pub fn joined_levels_of_any(&mut self, name: &str, most: u64) {
        self.line(format_args!("// The sum of `count` blocks: the levels that are taken, from the lowest."));
        self.line(format_args!("fn joined_{name}levels(count: u32) -> Octet {{\n    var sum: Octet;\n    var taken = false;"));
        for level in 0..=most.max(1).ilog2() {
            self.line(format_args!("    if ((count & {}u) != 0u) {{\n        if (taken) {{", 1u64 << level));
            self.line(format_args!("            sum = {name}level_{level} + sum;\n        }} else {{"));
            self.line(format_args!("            sum = {name}level_{level};\n        }}\n        taken = true;\n    }}"));
        }
        self.line(format_args!("    return sum;\n}}\n"));
    }

    /// The function `joined_SIGNATURE`: the sum of the levels that `blocks` blocks take, from the lowest, on top of what is `below`.
    pub fn joined_levels(&mut self, signature: &str, levels: &str, blocks: u64, below: &str) {
        self.line(format_args!("// The sum of all blocks: the levels that are taken, from the lowest."));
        self.line(format_args!("fn joined_{signature} -> Octet {{"));
        let mut sum = below.to_owned();
        for level in (0..64).filter(|level| blocks.max(1) >> level & 1 == 1) {
            sum = if sum.is_empty() { format!("{levels}level_{level}") } else { format!("({levels}level_{level} + {sum})") };
        }
        self.line(format_args!("    return {sum};\n}}\n"));
    }
}
