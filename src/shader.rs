//! From a [`Plan`] to WGSL text.
//!
//! A shader is the kernel's file behind the constants and the parts that its plan asks for. Parts are whole WGSL functions; a
//! part for one operand or dtype names it by the words `OPERAND`, `BUFFER` and `DTYPE`, which are replaced here and must not
//! survive. What is written by this file itself is what depends on a number: constants, bindings, the levels of a tree.

use std::fmt::{Arguments, Write as _};

use crate::dtype::DType;
use crate::gate::Activation;
use crate::groups::WeightOf;
use crate::plan::{Access, BLOCK, Binding, Plan, ROW_DIGITS, SharedWords};
use crate::slot::Slot;
use crate::spec::NormSpec;

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

/// One part of a shader.
macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("../shaders/parts/", $name, ".wgsl"))
    };
}

pub(crate) fn compose(plan: &Plan) -> Shader {
    let spec = &plan.spec;
    let mut text = Text::default();
    text.constants(plan);
    text.bindings(plan);
    text.add(part!("rows"));
    text.add(part!("opaque"));
    text.add(part!("octet"));
    text.row_count();
    text.codecs(spec);
    text.buffers(plan);
    for slot in Slot::ALL.into_iter().filter(|slot| !slot.is_written()) {
        text.load(plan, slot);
    }
    text.channels(spec);
    text.value(plan);
    text.rest_octets(plan);
    text.tree("", plan.order.blocks());
    for part in [part!("lanes"), part!("lane_sums"), part!("root"), part!("range")] {
        text.add(part);
    }
    if spec.is_stats() {
        text.add(part!("note_nothing"));
        text.add(part!("square_sums"));
        text.add_for(part!("store_statistic"), &[("BUFFER", &buffer_of(plan, Slot::Output))]);
        text.add(include_str!("../shaders/stats.wgsl"));
    } else {
        text.result(plan);
        text.output(plan);
        text.scale(plan);
        text.add(part!("write_rows"));
    }
    Shader { label: label(plan), wgsl: text.0, bindings: bound(plan) }
}

/// Operation, rung, length of a row, and the dtypes of all operands.
fn label(plan: &Plan) -> String {
    let spec = &plan.spec;
    let dtypes: Vec<_> = Slot::ALL.into_iter().filter_map(|slot| Some(format!("{slot} {}", spec.dtype_of(slot)?))).collect();
    format!("{} {} {}: {}", spec.operation(), plan.rung.name(), spec.hidden, dtypes.join(", "))
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

/// The operand that acts on the input, row by row.
fn operand_before(spec: &NormSpec) -> Option<Slot> {
    match () {
        () if spec.residual_out_dtype().is_some() => Some(Slot::Residual),
        () if spec.gates_input() => Some(Slot::Gate),
        () => None,
    }
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
        let (order, spec) = (&plan.order, &plan.spec);
        let width = u64::from(plan.width);
        let slot_pairs = order.octet_lanes().max(8);
        let query_heads = if let WeightOf::QueryAndKey(query) = spec.weight_of { query } else { 0 };
        let unsigned = [
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
            ("OUTPUT_STEPS", order.whole_octets().div_ceil(width)),
            ("SLOT_PAIRS", slot_pairs),
            ("LANE_PAIRS", slot_pairs * u64::from(plan.rows_at_once) * (1 + u64::from(spec.centered))),
        ];
        for (name, value) in unsigned {
            self.line(format_args!("const {name}: u32 = {value}u;"));
        }
        // 1 / (what the mean is over) as a sum of two f32.
        let exact = 1.0 / spec.mean_length() as f64;
        let inverse = exact as f32;
        let inverse_low = (exact - f64::from(inverse)) as f32;
        for (name, value) in [("INVERSE_HIDDEN", inverse), ("INVERSE_HIDDEN_LOW", inverse_low)] {
            self.line(format_args!("const {name}: f32 = {value:e}f;"));
        }
        for slot in Slot::ALL.into_iter().filter(|slot| !slot.is_written()) {
            let absent = if slot == Slot::Weight { "1.0" } else { "0.0" };
            self.line(format_args!("const ABSENT_{slot}: f32 = {absent};"));
        }
        if let Some(quantized) = spec.quantized {
            self.line(format_args!("const LARGEST_CODE: f32 = {:?};", quantized.dtype.largest()));
            self.line(format_args!("const PRODUCT_WILL_DO: bool = {};", spec.largest_product_will_do()));
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

    /// How the dtypes at hand are decoded and encoded.
    fn codecs(&mut self, spec: &NormSpec) {
        let mut used: Vec<_> = Slot::ALL.into_iter().filter_map(|slot| spec.dtype_of(slot)).collect();
        used.push(spec.norm_dtype());
        used.extend(spec.normalized_dtype());
        for (dtype, part) in
            [(DType::F16, part!("f16")), (DType::BF16, part!("bf16")), (DType::I8, part!("i8")), (DType::F8E4M3, part!("f8e4m3"))]
        {
            if used.contains(&dtype) {
                self.add(part);
            }
        }
    }

    /// How the words of each binding are read and written.
    fn buffers(&mut self, plan: &Plan) {
        for binding in &plan.bindings {
            let (read, write) = match () {
                () if is_atomic(plan, binding) => (part!("buffer_atomic"), part!("buffer_atomic_write")),
                () if binding.wide => (part!("buffer_wide"), part!("buffer_wide_write")),
                () => (part!("buffer_word"), part!("buffer_word_write")),
            };
            self.add_for(read, &[("BUFFER", &words(binding))]);
            if binding.operands.iter().any(|slot| slot.is_written()) {
                self.add_for(write, &[("BUFFER", &words(binding))]);
            }
        }
    }

    fn load(&mut self, plan: &Plan, slot: Slot) {
        let dtype = plan.spec.dtype_of(slot);
        let halves = match plan.access.get(slot) {
            Access::Element => part!("load_half_any"),
            Access::Word | Access::Wide => part!("load_half"),
        };
        let parts: &[&str] = match dtype {
            None => &[part!("load_constant")],
            Some(dtype) if dtype.is_half() => &[halves, part!("load_half_one")],
            Some(_) => &[part!("load_f32")],
        };
        let dtype = dtype.map_or("", DType::name);
        for part in parts {
            self.add_for(part, &[("OPERAND", slot.name()), ("BUFFER", &buffer_of(plan, slot)), ("DTYPE", dtype)]);
        }
    }

    /// Factors and summands of channels.
    fn channels(&mut self, spec: &NormSpec) {
        self.add(match spec.weight_of {
            WeightOf::Row => part!("weight_of_row"),
            WeightOf::Group => part!("weight_of_group"),
            WeightOf::QueryAndKey(_) => part!("weight_of_query_and_key"),
        });
        let has_offset = spec.weight.is_some() && spec.weight_offset != 0.0;
        self.add(if has_offset { part!("weight_offset") } else { part!("weight_plain") });
        self.add(part!("channels"));
    }

    /// The operand of the rows that acts at one end of the norm: `NAME_at` loads eight elements, `NAME_one` one.
    fn beside_norm(&mut self, name: &str, slot: Option<Slot>) {
        let load = |suffix: &str| match slot {
            Some(slot) => format!("load_{slot}{suffix}(row.{slot} + i)"),
            None if suffix.is_empty() => "Octet(vec4<f32>(0.0), vec4<f32>(0.0))".into(),
            None => "0.0".into(),
        };
        let what = slot.map_or("nothing", Slot::name);
        self.line(format_args!(
            "// What acts {name} the norm: {what}.\nfn {name}_at(row: Row, i: u32) -> Octet {{\n    return {};\n}}\n",
            load("")
        ));
        self.line(format_args!("fn {name}_one(row: Row, i: u32) -> f32 {{\n    return {};\n}}\n", load("_one")));
    }

    /// What is normalised: the input, its sum with a residual, or its product with a gate.
    fn value(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        self.beside_norm("before", operand_before(spec));
        if let Some(residual) = spec.residual_dtype() {
            let other = if spec.adds_after() { spec.norm_dtype() } else { spec.input };
            let is_f16 = other == DType::F16 && residual == DType::F16;
            self.add(if is_f16 { part!("sum_plain") } else { part!("sum_exact") });
        }
        if let Some(gate) = spec.gate {
            self.add(part!("sigmoid"));
            self.add(match gate.activation {
                Activation::Silu => part!("gate_silu"),
                Activation::Sigmoid => part!("gate_sigmoid"),
            });
        }
        match spec.residual_out_dtype() {
            Some(dtype) => {
                self.beside(plan, Slot::ResidualOut, dtype);
                self.cast_as("sum", spec.sum_rounded_to());
                self.add(part!("value_sum"));
            }
            None if spec.gates_input() => self.add(part!("value_gated")),
            None => self.add(part!("value_input")),
        }
    }

    /// From what is normalised to what is written.
    fn result(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        self.add(if spec.centered { part!("centered_at_mean") } else { part!("centered_not") });
        self.add(if spec.statistics_length() < spec.group_length() { part!("far_perhaps") } else { part!("far_never") });
        match spec.normalized_dtype() {
            None => self.add(part!("cast_none")),
            Some(dtype) => self.add_for(part!("cast_half"), &[("DTYPE", dtype.name())]),
        }
        self.add(if spec.bias.is_some() { part!("bias_present") } else { part!("bias_absent") });
        self.add(part!("finish"));

        let gate = spec.output_gate();
        let slot = if spec.adds_after() { Some(Slot::Residual) } else { gate.map(|_| Slot::Gate) };
        self.beside_norm("after", slot);
        let half = Some(spec.norm_dtype()).filter(|dtype| dtype.is_half());
        match gate {
            Some(gate) => {
                self.cast_as("normed", half.filter(|_| gate.rounded));
                self.add(if gate.rounded { part!("gate_rounded") } else { part!("gate_unrounded") });
                self.add(part!("after_gate"));
            }
            None if spec.adds_after() => {
                self.cast_as("normed", half);
                self.add(part!("after_sum"));
            }
            None => self.add(part!("after_none")),
        }
    }

    /// How a row is written, and what is written beside it.
    fn output(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        let output = spec.output_dtype();
        let store = match output.size() {
            1 => part!("store_codes"),
            2 => part!("store_half"),
            _ => part!("store_f32"),
        };
        self.add_for(store, &[("BUFFER", &buffer_of(plan, Slot::Output)), ("DTYPE", output.name())]);
        self.edges(plan);
        match spec.rstd {
            true => self.add_for(part!("rstd_kept"), &[("BUFFER", &buffer_of(plan, Slot::Rstd))]),
            false => self.add(part!("rstd_absent")),
        }
        match spec.quantized {
            None => self.add(part!("codes_none")),
            Some(quantized) if quantized.scale.is_some() => self.add(part!("codes_static")),
            Some(_) => {
                self.add_for(part!("codes_dynamic"), &[("BUFFER", &buffer_of(plan, Slot::Scale))]);
                self.add(if plan.order.rest() > 0 { part!("top_of_rest") } else { part!("top_of_rest_none") });
            }
        }
    }

    /// How a row's scale is found.
    fn scale(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        if spec.shards().is_some() {
            return self.add(include_str!("../shaders/apply.wgsl"));
        }
        self.add(match (spec.writes_scale(), spec.largest_product_will_do()) {
            (false, _) => part!("note_nothing"),
            (true, false) => part!("note_unused"),
            (true, true) => part!("note_product"),
        });
        if spec.centered {
            self.tree("deviation_", plan.order.blocks());
            return self.add(include_str!("../shaders/layer_norm.wgsl"));
        }
        self.add(part!("square_sums"));
        self.add(include_str!("../shaders/rms_norm.wgsl"));
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

    /// The elements that are summed behind the last whole octet, by name: there is no loop over them, and none where there are none.
    fn rest_octets(&mut self, plan: &Plan) {
        let order = &plan.order;
        let octet = |load: &dyn Fn(u64) -> String| {
            let element = |i: u64| match i < order.summed_rest() {
                true => load(order.summed_octets() * 8 + i),
                false => "0.0".into(),
            };
            let [low, high] = [0, 4].map(|first| (first..first + 4).map(element).collect::<Vec<_>>().join(", "));
            format!("Octet(vec4<f32>({low}), vec4<f32>({high}))")
        };
        let x = octet(&|i| format!("load_input_one(row.input + {i}u)"));
        let p = octet(&|i| format!("before_one(row, {i}u)"));
        self.line(format_args!("// The elements that are summed behind the last whole octet, and zeros."));
        self.line(format_args!("fn rest_octets(row: Row) -> RestOctets {{\n    return RestOctets({x}, {p});\n}}\n"));
    }

    /// The tree over the blocks of a lane, as a binary counter of partial sums: level k holds the sum of 2^k blocks. An array
    /// of levels would need no text of its own, but local arrays indexed by a variable are what old shader compilers give up
    /// on (case O2).
    fn tree(&mut self, name: &str, blocks: u64) {
        let top = blocks.max(1).ilog2();
        for level in 0..=top {
            self.line(format_args!("var<private> {name}level_{level}: Octet;"));
        }
        self.line(format_args!("\nfn begin_{name}blocks() {{"));
        for level in 0..=top {
            self.line(format_args!("    {name}level_{level} = Octet(vec4<f32>(0.0), vec4<f32>(0.0));"));
        }
        self.line(format_args!(
            "}}\n\n// Adds a block: a carry runs up while levels are taken.\nfn join_{name}block(block: u32, sum: Octet) {{"
        ));
        self.line(format_args!("    var carry = sum;"));
        for level in 0..top {
            self.line(format_args!(
                "    if ((block & {}u) == 0u) {{\n        {name}level_{level} = carry;\n        return;\n    }}",
                1u64 << level
            ));
            self.line(format_args!("    carry = {name}level_{level} + carry;"));
        }
        self.line(format_args!("    {name}level_{top} = carry;\n}}\n\n// The sum of all blocks: the levels that are taken, from the lowest.\nfn joined_{name}blocks() -> Octet {{"));
        let taken: Vec<_> = (0..=top).filter(|level| blocks >> level & 1 == 1).collect();
        let mut sum = String::new();
        for level in taken {
            sum = if sum.is_empty() { format!("{name}level_{level}") } else { format!("({name}level_{level} + {sum})") };
        }
        self.line(format_args!("    return {sum};\n}}\n"));
    }
}
