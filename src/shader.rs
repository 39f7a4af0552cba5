//! From a [`Plan`] to WGSL text.
//!
//! A shader is the kernel's file behind the constants and the parts that its plan asks for. Parts are whole WGSL functions; a
//! part for one operand or dtype names it by the words `OPERAND`, `BUFFER` and `DTYPE`, which are replaced here and must not
//! survive. What is written by this file itself is what depends on a number: constants, bindings, the levels of a tree.

use std::fmt::{Arguments, Write as _};

use crate::dtype::DType;
use crate::plan::{Access, BLOCK, Binding, Plan, ROW_DIGITS, SharedWords, Slot};

/// The text of a kernel and what it binds, all in group 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shader {
    /// A label: operation, rung, hidden and dtypes.
    pub label: String,
    /// The complete WGSL module. Its entry point is [`Shader::ENTRY`].
    pub wgsl: String,
    /// What is bound: the index is the binding's number.
    pub bindings: Vec<Bound>,
}

/// What a binding of a kernel is. A host must know every kind, so that a new one is a breaking change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// A uniform that holds the chunk's [`Params`](crate::plan::Params).
    Params,
    /// A uniform of 16 bytes with a dynamic offset, whose first word is this digit of the number of rows, as
    /// [`Plan::digits_of`] gives them: a table of 0 to 255 serves all digits of all recordings.
    RowDigit(usize),
    /// The storage binding of this index in [`Plan::bindings`].
    Storage(usize),
}

impl Shader {
    /// The name of the entry point.
    pub const ENTRY: &'static str = "main";
}

fn bound(plan: &Plan) -> Vec<Bound> {
    let digits = (0..ROW_DIGITS).map(Bound::RowDigit);
    let storage = (0..plan.bindings.len()).map(Bound::Storage);
    std::iter::once(Bound::Params).chain(digits).chain(storage).collect()
}

const KERNEL: &str = include_str!("../shaders/rms_norm.wgsl");

/// One part of a shader.
macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("../shaders/parts/", $name, ".wgsl"))
    };
}

pub(crate) fn compose(plan: &Plan) -> Shader {
    let spec = &plan.spec;
    let output = spec.output_dtype();
    let mut text = Text::default();
    text.constants(plan);
    text.bindings(plan);
    for part in [part!("rows"), part!("opaque"), part!("octet")] {
        text.add(part);
    }
    text.row_count();
    let residual = spec.residual_dtype();
    for (dtype, part) in [(DType::F16, part!("f16")), (DType::BF16, part!("bf16"))] {
        let used =
            [Some(spec.input), spec.weight, spec.bias, residual, Some(output), Some(spec.norm_dtype()), spec.normalized_dtype()];
        if used.contains(&Some(dtype)) {
            text.add(part);
        }
    }
    for binding in &plan.bindings {
        let (read, write) = match () {
            () if is_atomic(plan, binding) => (part!("buffer_atomic"), part!("buffer_atomic_write")),
            () if binding.wide => (part!("buffer_wide"), part!("buffer_wide_write")),
            () => (part!("buffer_word"), part!("buffer_word_write")),
        };
        text.add_for(read, &[("BUFFER", &words(binding))]);
        if binding.operands.iter().any(|slot| slot.is_written()) {
            text.add_for(write, &[("BUFFER", &words(binding))]);
        }
    }
    let operands =
        [(Slot::Input, Some(spec.input)), (Slot::Weight, spec.weight), (Slot::Bias, spec.bias), (Slot::Residual, residual)];
    for (slot, dtype) in operands {
        text.load(plan, slot, dtype);
    }
    text.residual(plan);
    text.add(if spec.weight.is_some() && spec.weight_offset != 0.0 { part!("weight_offset") } else { part!("weight_plain") });
    text.add(part!("channels"));
    text.add(if spec.bias.is_some() { part!("bias_present") } else { part!("bias_absent") });
    match spec.normalized_dtype() {
        None => text.add(part!("cast_none")),
        Some(dtype) => text.add_for(part!("cast_half"), &[("DTYPE", dtype.name())]),
    }
    let output_buffer = buffer_of(plan, Slot::Output);
    text.add_for(
        if output.is_half() { part!("store_half") } else { part!("store_f32") },
        &[("BUFFER", &output_buffer), ("DTYPE", output.name())],
    );
    text.edges(plan);
    text.rest_octet(plan);
    text.tree(plan.order.blocks());
    text.add(part!("lane_sums"));
    text.add(part!("root"));
    text.add(part!("range"));
    text.add(KERNEL);

    let name = |d: Option<DType>| d.map_or("none", DType::name);
    Shader {
        label: format!(
            "rms_norm {} {} {}/{}/{}/{}/{}",
            plan.rung.name(),
            spec.hidden,
            spec.input,
            name(spec.weight),
            name(spec.bias),
            name(residual),
            output
        ),
        wgsl: text.0,
        bindings: bound(plan),
    }
}

/// The variable of a binding.
fn words(binding: &Binding) -> String {
    format!("{}_words", binding.name)
}

/// The variable through which an operand is accessed; nothing for an absent one, which loads a constant.
fn buffer_of(plan: &Plan, slot: Slot) -> String {
    plan.bindings.iter().find(|b| b.operands.contains(&slot)).map_or(String::new(), words)
}

/// Whether rows change halves of words that other workgroups, or other invocations, change too.
fn is_atomic(plan: &Plan, binding: &Binding) -> bool {
    let holds = |slot| binding.operands.contains(&slot);
    plan.shared_words == SharedWords::Everywhere && holds(Slot::Output)
        || plan.access.get(Slot::ResidualOut) == Access::Element && holds(Slot::ResidualOut)
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn add(&mut self, part: &str) {
        self.0.push_str(part);
        self.0.push('\n');
    }

    fn add_for(&mut self, part: &str, names: &[(&str, &str)]) {
        let named = names.iter().fold(part.to_owned(), |text, (word, name)| text.replace(word, name));
        self.add(&named);
    }

    fn line(&mut self, line: Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }

    fn constants(&mut self, plan: &Plan) {
        let order = &plan.order;
        let width = u64::from(plan.width);
        let unsigned = [
            ("HIDDEN", order.hidden),
            ("WHOLE_OCTETS", order.whole_octets()),
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
            ("OUTPUT_STEPS", order.whole_octets().div_ceil(width)),
            ("SLOT_PAIRS", order.octet_lanes().max(8)),
            ("LANE_PAIRS", order.octet_lanes().max(8) * u64::from(plan.rows_at_once)),
        ];
        for (name, value) in unsigned {
            self.line(format_args!("const {name}: u32 = {value}u;"));
        }
        // 1 / hidden as a sum of two f32.
        let exact = 1.0 / order.hidden as f64;
        let inverse = exact as f32;
        let inverse_low = (exact - f64::from(inverse)) as f32;
        for (name, value) in [
            ("INVERSE_HIDDEN", inverse),
            ("INVERSE_HIDDEN_LOW", inverse_low),
            ("ABSENT_weight", 1.0),
            ("ABSENT_bias", 0.0),
            ("ABSENT_residual", 0.0),
        ] {
            self.line(format_args!("const {name}: f32 = {value:e}f;"));
        }
        self.0.push('\n');
    }

    fn bindings(&mut self, plan: &Plan) {
        for (at, bound) in bound(plan).into_iter().enumerate() {
            let variable = match bound {
                Bound::Params => "var<uniform> params: Params".to_owned(),
                Bound::RowDigit(digit) => format!("var<uniform> row_digit_{digit}: Digit"),
                Bound::Storage(index) => {
                    let binding = &plan.bindings[index];
                    let access = if binding.writable { "read_write" } else { "read" };
                    let element = match () {
                        () if is_atomic(plan, binding) => "atomic<u32>",
                        () if binding.wide => "vec4<u32>",
                        () => "u32",
                    };
                    format!("var<storage, {access}> {}: array<{element}>", words(binding))
                }
            };
            self.line(format_args!("@group(0) @binding({at}) {variable};"));
        }
        self.0.push('\n');
    }

    fn row_count(&mut self) {
        let digits: Vec<_> = (0..ROW_DIGITS).map(|d| format!("(row_digit_{d}.value << {}u)", 8 * d)).collect();
        self.line(format_args!("// Rows of the chunk that this recording covers.\nfn row_count() -> u32 {{"));
        self.line(format_args!("    return {};\n}}\n", digits.join(" | ")));
    }

    fn load(&mut self, plan: &Plan, slot: Slot, dtype: Option<DType>) {
        let halves = match plan.access.get(slot) {
            Access::Element => part!("load_half_any"),
            Access::Word | Access::Wide => part!("load_half"),
        };
        let parts: &[&str] = match dtype {
            None => &[part!("load_constant")],
            Some(DType::F32) => &[part!("load_f32")],
            Some(DType::F16 | DType::BF16) => &[halves, part!("load_half_one")],
        };
        let dtype = dtype.map_or("", DType::name);
        for part in parts {
            self.add_for(part, &[("OPERAND", slot.name()), ("BUFFER", &buffer_of(plan, slot)), ("DTYPE", dtype)]);
        }
    }

    /// What a residual is added to: what is normalised, the result, or nothing.
    fn residual(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        if let Some(residual) = spec.residual_dtype() {
            let other = if spec.adds_after() { spec.norm_dtype() } else { spec.input };
            let is_f16 = other == DType::F16 && residual == DType::F16;
            self.add(if is_f16 { part!("sum_plain") } else { part!("sum_exact") });
        }
        match spec.residual_out_dtype() {
            None => self.add(part!("value_input")),
            Some(dtype) => {
                self.beside(plan, Slot::ResidualOut, dtype);
                self.cast_as("sum", spec.sum_rounded_to());
                self.add(part!("value_sum"));
            }
        }
        if spec.adds_after() {
            self.cast_as("normed", Some(spec.norm_dtype()).filter(|dtype| dtype.is_half()));
            self.add(part!("after_sum"));
        } else {
            self.add(part!("after_none"));
        }
    }

    fn cast_as(&mut self, what: &str, dtype: Option<DType>) {
        match dtype {
            Some(dtype) => self.add_for(part!("cast_as_half"), &[("OPERAND", what), ("DTYPE", dtype.name())]),
            None => self.add_for(part!("cast_as_it_is"), &[("OPERAND", what)]),
        }
    }

    /// Functions that write rows beside the main output.
    fn beside(&mut self, plan: &Plan, slot: Slot, dtype: DType) {
        let names = [("OPERAND", slot.name()), ("BUFFER", &buffer_of(plan, slot)), ("DTYPE", dtype.name())];
        let parts: &[&str] = match (dtype, plan.access.get(slot)) {
            (DType::F32, _) => &[part!("beside_f32")],
            (_, Access::Element) => &[part!("beside_half_any"), part!("beside_half_rest")],
            _ => &[part!("beside_half"), part!("beside_half_rest")],
        };
        parts.iter().for_each(|part| self.add_for(part, &names));
    }

    fn edges(&mut self, plan: &Plan) {
        let part = match plan.access.get(Slot::Output) {
            Access::Element if plan.shared_words == SharedWords::InPairs => part!("edges_shared"),
            Access::Element => part!("edges_odd"),
            _ if plan.order.rest() > 0 => part!("edges_rest"),
            _ => part!("edges_none"),
        };
        if part != part!("edges_none") {
            self.add(part!("edge_octet"));
        }
        self.add(part);
    }

    /// The elements behind the last whole octet, by name: there is no loop over them, and none where there are none.
    fn rest_octet(&mut self, plan: &Plan) {
        let order = &plan.order;
        let octet = |slot: Slot| {
            let element = |i: u64| match i < order.rest() {
                true => format!("load_{slot}_one(row.{slot} + {}u)", order.whole_octets() * 8 + i),
                false => "0.0".into(),
            };
            let [low, high] = [0, 4].map(|first| (first..first + 4).map(element).collect::<Vec<_>>().join(", "));
            format!("Octet(vec4<f32>({low}), vec4<f32>({high}))")
        };
        self.line(format_args!("// The elements behind the last whole octet, and zeros.\nfn rest_octet(row: Row) -> Octet {{"));
        self.line(format_args!("    return value_of({}, {});\n}}\n", octet(Slot::Input), octet(Slot::Residual)));
    }

    /// The tree over the blocks of a lane, as a binary counter of partial sums: level k holds the sum of 2^k blocks. An array
    /// of levels would need no text of its own, but local arrays indexed by a variable are what old shader compilers give up
    /// on (case O2).
    fn tree(&mut self, blocks: u64) {
        let top = blocks.max(1).ilog2();
        for level in 0..=top {
            self.line(format_args!("var<private> level_{level}: Octet;"));
        }
        self.line(format_args!("\nfn begin_blocks() {{"));
        for level in 0..=top {
            self.line(format_args!("    level_{level} = Octet(vec4<f32>(0.0), vec4<f32>(0.0));"));
        }
        self.line(format_args!(
            "}}\n\n// Adds a block: a carry runs up while levels are taken.\nfn join_block(block: u32, sum: Octet) {{"
        ));
        self.line(format_args!("    var carry = sum;"));
        for level in 0..top {
            self.line(format_args!(
                "    if ((block & {}u) == 0u) {{\n        level_{level} = carry;\n        return;\n    }}",
                1u64 << level
            ));
            self.line(format_args!("    carry = level_{level} + carry;"));
        }
        self.line(format_args!("    level_{top} = carry;\n}}\n\n// The sum of all blocks: the levels that are taken, from the lowest.\nfn joined_blocks() -> Octet {{"));
        let taken: Vec<_> = (0..=top).filter(|level| blocks >> level & 1 == 1).collect();
        let mut sum = String::new();
        for level in taken {
            sum = if sum.is_empty() { format!("level_{level}") } else { format!("(level_{level} + {sum})") };
        }
        self.line(format_args!("    return {sum};\n}}\n"));
    }
}
