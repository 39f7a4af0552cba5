//! The two kernels of a backward pass.

use super::text::Text;
use super::{Shader, bound_by, buffer_of, label, start};
use crate::gate::Activation;
use crate::groups::WeightOf;
use crate::plan::{Binding, Blocks, Channels, Order, Plan, group_octets, sums};
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Lanes of a row's sums that one invocation adds up side by side, where strips are as long. Four gained nothing more, and took twice
/// as long to compile.
const SLOPE_LANES: u64 = 2;

/// The kernel that finds the gradients of rows, and what each block adds to those of weight and bias.
pub(crate) fn compose_backward(plan: &Plan, blocks: &Blocks) -> Shader {
    let spec = &plan.spec;
    let mut text = start(plan);
    text.slope_constants(plan, blocks);
    text.add(if plan.is_alone { part!("turns_alone") } else { part!("turns_shared") });
    text.sums(plan);
    text.channels(plan);
    text.add(if spec.centered { part!("centered_at_mean") } else { part!("centered_not") });
    text.cast_normalized(spec);
    text.scale(plan);
    let is_saved = spec.backward.is_some_and(|backward| backward.saved_rstd);
    // Together, the scale is made of squares that are summed here.
    let together = spec.sums_values() && !is_saved;
    match (is_saved, together) {
        (true, _) => text.add(part!("scale_saved")),
        (false, false) => text.add(part!("scale_found")),
        (false, true) => {}
    }
    text.loaded(plan);
    text.add(part!("gradients"));
    text.add(if spec.statistics_length() < spec.group_length() { part!("summed_some") } else { part!("summed_all") });
    text.gate_slopes(spec);
    let has_stream = spec.dtype_of(Slot::GradResidualOut).is_some();
    text.add(if has_stream { part!("stream_added") } else { part!("stream_none") });
    text.slope_lanes(plan);
    text.add(if spec.sums_values() { part!("slope_of_value") } else { part!("slope_of_normalized") });
    text.add(part!("row_slope"));
    text.slope_sums(plan, blocks, together);
    text.store_gradients(plan);
    text.strip(plan, blocks);
    text.add(file!("backward"));
    text.add(if together { part!("terms_together") } else { part!("terms_after") });
    text.add(if plan.is_alone { part!("terms_alone") } else { part!("terms_shared") });
    text.add(if blocks.batch == blocks.rows { part!("block_at_once") } else { part!("block_by_rows") });
    text.add(part!("entry_backward"));
    let has_sums = blocks.channels.is_some();
    Shader { label: label(plan), wgsl: text.0, bindings: bound_by(&plan.bindings, has_sums) }
}

/// The kernel that adds up what the blocks found.
pub(crate) fn compose_channels(plan: &Plan, blocks: &Blocks, channels: &Channels) -> Shader {
    let spec = &plan.spec;
    let mut text = Text::default();
    let query_heads = if let WeightOf::QueryAndKey(query) = spec.weight_of { query } else { 0 };
    text.unsigned(&[
        ("HIDDEN", spec.group_length()),
        ("GROUPS", spec.groups),
        ("QUERY_HEADS", query_heads),
        ("SUMS", sums(spec)),
        ("BLOCK_ROWS", blocks.rows.into()),
        ("ROW_OCTETS", group_octets(spec)),
        ("WORKGROUP_SIZE", Channels::WORKGROUP_SIZE.into()),
        ("LINE", channels.grid[0].into()),
        ("WEIGHTS", spec.weight_length() / spec.group_length()),
    ]);
    text.bindings(plan, &channels.bindings, true);
    text.add(part!("rows"));
    text.add(part!("opaque"));
    text.add(part!("octet"));
    text.row_count();
    text.codecs(spec);
    text.buffers(plan, &channels.bindings);
    text.channel_starts(spec);
    text.add(part!("scratch_at"));
    let strands = u64::from(Channels::WORKGROUP_SIZE);
    let longest = blocks.count.div_ceil(strands).next_power_of_two();
    for (name, most) in [("blocks_", longest), ("strands_", strands), ("groups_", spec.groups)] {
        text.join_levels(name, most);
        text.joined_levels_of_any(name, most);
    }
    let first = match spec.weight_of {
        WeightOf::Row => "which",
        WeightOf::Group => "which * GROUPS",
        WeightOf::QueryAndKey(_) => "select(select(GROUPS, QUERY_HEADS, which == 1u), 0u, which == 0u)",
    };
    text.line(format_args!("// The first of the groups that share a weight."));
    text.line(format_args!("fn first_group(which: u32) -> u32 {{\n    return {first};\n}}\n"));
    text.store_sum(plan, &channels.bindings);
    text.add(file!("grad_channels"));
    Shader { label: format!("{}, channels", label(plan)), wgsl: text.0, bindings: bound_by(&channels.bindings, true) }
}

/// The sums over rows, by the number that each has in the scratch buffer: the slot, and what a row adds.
fn sums_over_rows(spec: &NormSpec) -> Vec<(Slot, &'static str)> {
    let all = [(Slot::GradWeight, "found.weight"), (Slot::GradBias, "found.norm")];
    all.into_iter().filter(|(slot, _)| spec.dtype_of(*slot).is_some()).collect()
}

/// All elements of a row, in the lanes in which its squares are summed.
fn whole(order: &Order) -> Order {
    Order { summed: order.hidden, ..*order }
}

impl Text {
    fn slope_constants(&mut self, plan: &Plan, blocks: &Blocks) {
        let order = whole(&plan.order);
        let octets = group_octets(&plan.spec);
        // The largest g of rows that are not taken apart, as bits. A gate on the input multiplies the gradient once more, and rows
        // that are not scaled yet may be 2^20 times as large: there less is left to it.
        let largest = match () {
            () if plan.spec.gates_input() => 0x5d80_0000,
            () if plan.spec.sums_values() => 0x6580_0000,
            () => 0x6f80_0000,
        };
        self.unsigned(&[
            ("TEAM", blocks.team.into()),
            ("STRIP", blocks.strip.into()),
            ("STRIPS", octets.div_ceil(u64::from(blocks.team) * u64::from(blocks.strip))),
            ("BATCH", blocks.batch.into()),
            ("BLOCK_ROWS", blocks.rows.into()),
            ("LEAF", blocks.leaf.into()),
            ("TERMS", u64::from(blocks.batch) * u64::from(plan.rows_at_once)),
            ("SUMS", sums(&plan.spec)),
            ("ROW_OCTETS", octets),
            ("SUMMED", plan.order.summed),
            ("WHOLE_OCTETS", order.whole_octets()),
            ("SLOPE_STEPS", order.steps()),
            ("SLOPE_BLOCKS", order.blocks()),
            ("SLOPE_LARGEST", largest),
            ("SLOPE_SMALLEST", if plan.spec.gates_input() { 0x2b80_0000 } else { 0x1f80_0000 }),
            ("SLOPE_TURNS", order.blocks() * order.octet_lanes().div_ceil(plan.width.into())),
        ]);
    }

    /// Where the sums of a row's slope join.
    fn slope_lanes(&mut self, plan: &Plan) {
        let order = whole(&plan.order);
        let centered = plan.spec.centered;
        // The regions before are those of the scale.
        let first = 1 + u64::from(centered);
        for (name, region) in [("slope", first), ("level", first + 1)].into_iter().take(1 + usize::from(centered)) {
            match plan.is_alone {
                true => self.lanes_alone_of(&format!("{name}_"), &order, "SLOPE_BLOCKS"),
                false => {
                    self.levels(&format!("{name}_"), order.blocks());
                    self.add_for(part!("lanes_shared_slope"), &[("NAME", name), ("REGION", &format!("{region}u"))]);
                }
            }
        }
        self.add(if centered { part!("level_of_mean") } else { part!("level_none") });
    }

    /// Adds up the sums of a row, some lanes at a time where one invocation does it; returns the largest magnitude of g as bits.
    fn slope_sums(&mut self, plan: &Plan, blocks: &Blocks, together: bool) {
        let mut sums = vec![("slope_", "along")];
        sums.extend(plan.spec.centered.then_some(("level_", "level")));
        sums.extend(together.then_some(("", "squares")));
        let order = whole(&plan.order);
        let named = if plan.is_alone { SLOPE_LANES.min(order.octet_lanes()).min(blocks.strip.into()) } else { 0 };
        for (lane, (name, _)) in (0..named).flat_map(|lane| sums.iter().map(move |sum| (lane, sum))) {
            self.levels(&format!("{name}of_lane_{lane}_"), order.blocks());
        }
        self.line(format_args!(
            "// Adds up the sums of a row; returns the largest magnitude of g that this invocation sees, as bits."
        ));
        self.line(format_args!("fn add_up_slope(slot: u32, invocation: u32, row: Row, scale: Scale) -> u32 {{"));
        self.line(format_args!("    var peak = 0u;"));
        if !plan.is_alone {
            self.line(format_args!("    for (var turn = 0u; turn < rolled(SLOPE_TURNS); turn++) {{"));
            self.line(format_args!("        let lane = turn / SLOPE_BLOCKS * WIDTH + invocation;"));
            self.line(format_args!("        let block = turn % SLOPE_BLOCKS;"));
            self.line(format_args!("        let sums = slope_block(row, lane, block, scale);"));
            for (name, sum) in &sums {
                self.line(format_args!("        join_{name}block(slot, lane, block, sums.{sum});"));
            }
            return self.line(format_args!("        peak = max(peak, sums.peak);\n    }}\n    return peak;\n}}\n"));
        }
        self.line(format_args!("    for (var first = 0u; first < rolled(OCTET_LANES); first += {named}u) {{"));
        self.line(format_args!("        for (var block = 0u; block < rolled(SLOPE_BLOCKS); block++) {{"));
        for lane in 0..named {
            self.line(format_args!("            let sums_{lane} = slope_block(row, first + {lane}u, block, scale);"));
            for (name, sum) in &sums {
                self.line(format_args!("            join_{name}of_lane_{lane}_levels(block, sums_{lane}.{sum});"));
            }
            self.line(format_args!("            peak = max(peak, sums_{lane}.peak);"));
        }
        self.line(format_args!("        }}"));
        for (lane, (name, _)) in (0..named).flat_map(|lane| sums.iter().map(move |sum| (lane, sum))) {
            let pair = format!("pair_of(joined_{name}of_lane_{lane}_levels())");
            self.line(format_args!("        {name}lane_pairs[first + {lane}u] = {pair};"));
        }
        self.line(format_args!("    }}\n    return peak;\n}}\n"));
    }

    /// What is read of an octet of a row: whole ones by wide accesses, the last by elements, zeros behind it.
    fn loaded(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        let rest = plan.order.hidden % 8;
        let octet = |element: &dyn Fn(u64) -> String| {
            let element = |i: u64| if i < rest { element(i) } else { "0.0".into() };
            let [low, high] = [0, 4].map(|first| (first..first + 4).map(element).collect::<Vec<_>>().join(", "));
            format!("Octet(vec4<f32>({low}), vec4<f32>({high}))")
        };
        let zero = "Octet(vec4<f32>(0.0), vec4<f32>(0.0))";
        let slots =
            [Slot::Input, Slot::Gate, Slot::GradOutput, Slot::GradResidualOut].map(|slot| spec.dtype_of(slot).map(|_| slot));
        let wide = slots.map(|slot| slot.map_or(zero.into(), |slot| format!("load_{slot}(row.{slot} + i)"))).join(", ");
        let ended = |slot: Slot| octet(&|k| format!("load_{slot}_one(row.{slot} + i + {k}u)"));
        let narrow = slots.map(|slot| slot.map_or(zero.into(), ended)).join(", ");
        self.line(format_args!("// Octet o of a row, zeros behind its end.\nfn loaded_at(row: Row, o: u32) -> Loaded {{"));
        self.line(format_args!("    let i = o * 8u;\n    if (o < WHOLE_OCTETS) {{\n        return Loaded({wide});\n    }}"));
        if rest > 0 {
            self.line(format_args!("    if (o == WHOLE_OCTETS) {{\n        return Loaded({narrow});\n    }}"));
        }
        self.line(format_args!("    return Loaded({});\n}}\n", [zero; 4].join(", ")));

        let weight = octet(&|k| format!("weight_one(row, i + {k}u)"));
        let bias = octet(&|k| format!("load_bias_one(params.bias_start + row.weight + i + {k}u)"));
        self.line(format_args!("fn weight_one(row: Row, i: u32) -> f32 {{"));
        self.line(format_args!(
            "    return offset_weight(vec4<f32>(load_weight_one(params.weight_start + row.weight + i))).x;\n}}\n"
        ));
        self.line(format_args!("// Octet o of factors and summands.\nfn channels_at(row: Row, o: u32) -> ChannelOctet {{"));
        self.line(format_args!("    let i = o * 8u;\n    if (o < WHOLE_OCTETS) {{"));
        self.line(format_args!("        return ChannelOctet(weight_at(row, i), bias_at(row, i));\n    }}"));
        if rest > 0 {
            self.line(format_args!("    if (o == WHOLE_OCTETS) {{\n        return ChannelOctet({weight}, {bias});\n    }}"));
        }
        self.line(format_args!("    return ChannelOctet({zero}, {zero});\n}}\n"));
    }

    fn gate_slopes(&mut self, spec: &NormSpec) {
        match spec.output_gate() {
            Some(gate) => {
                let half = Some(spec.norm_dtype()).filter(|dtype| gate.rounded && dtype.is_half());
                self.cast_as("normed", half);
                self.add(part!("slope_output_gated"));
                self.add(if half.is_some() { part!("slope_output_rounded") } else { part!("slope_output_split") });
                self.add(part!("gate_slope_output"));
            }
            None => {
                self.add(part!("slope_plain"));
                self.add(if spec.gates_input() { part!("gate_slope_input") } else { part!("gate_slope_none") });
            }
        }
        if spec.gate.is_some() {
            self.add(part!("opening_slope"));
            self.add(match spec.activation {
                Activation::Silu => part!("opening_slope_silu"),
                Activation::Sigmoid => part!("opening_slope_sigmoid"),
            });
        }
    }

    /// Writes the gradients of an octet of a row.
    fn store_gradients(&mut self, plan: &Plan) {
        let rest = plan.order.hidden % 8;
        let written: Vec<_> = [(Slot::Output, "input"), (Slot::GradGate, "gate")]
            .into_iter()
            .filter_map(|(slot, field)| Some((slot, field, plan.spec.dtype_of(slot)?)))
            .collect();
        for (slot, _, dtype) in &written {
            self.beside(&buffer_of(plan, *slot), plan.access.get(*slot), *slot, *dtype);
        }
        self.line(format_args!("fn store_gradients(row: Row, o: u32, found: Gradients) {{\n    let i = o * 8u;"));
        self.line(format_args!("    if (o < WHOLE_OCTETS) {{"));
        for (slot, field, _) in &written {
            self.line(format_args!("        store_{slot}(row.{slot} + i, found.{field});"));
        }
        self.line(format_args!("    }}"));
        if rest > 0 {
            self.line(format_args!("    if (o == WHOLE_OCTETS) {{"));
            for (slot, field, _) in &written {
                self.line(format_args!("        store_{slot}_rest(row.{slot} + i, found.{field}, {rest}u);"));
            }
            self.line(format_args!("    }}"));
        }
        self.line(format_args!("}}\n"));
    }

    /// The octets of a strip, each with factors, summands and sums in variables of its own: drivers do not keep in registers what is
    /// found by an index, and some do not compile it (case O2).
    fn strip(&mut self, plan: &Plan, blocks: &Blocks) {
        for k in 0..blocks.strip {
            self.line(format_args!("var<private> channels_{k}: ChannelOctet;"));
        }
        self.line(format_args!("\n// Factors and summands of octet k of a strip."));
        self.line(format_args!("fn strip_channels(k: u32) -> ChannelOctet {{"));
        for k in 1..blocks.strip {
            self.line(format_args!("    if (k == {k}u) {{\n        return channels_{k};\n    }}"));
        }
        self.line(format_args!("    return channels_0;\n}}\n"));
        self.line(format_args!("// A strip begins with octet o."));
        self.line(format_args!("fn begin_strip(row: Row, o: u32) {{"));
        for k in 0..blocks.strip {
            self.line(format_args!("    channels_{k} = channels_at(row, o + {k}u * TEAM);\n    clear_sums({k}u);"));
        }
        self.line(format_args!("}}\n\n// A strip of an ordinary row, from octet o."));
        self.line(format_args!("fn ordinary_strip(row: Row, o: u32, scale: Scale, slope: Slope) {{"));
        for k in 0..blocks.strip {
            self.line(format_args!("    ordinary_octet(row, {k}u, o + {k}u * TEAM, scale, slope);"));
        }
        self.line(format_args!("}}\n"));
        self.sums_of_block(plan, blocks);
    }

    /// What the rows of a block add to the gradients of weight and bias, for octet k of a strip: chains of LEAF rows, and a tree over
    /// these.
    fn sums_of_block(&mut self, plan: &Plan, blocks: &Blocks) {
        let sums = sums_over_rows(&plan.spec);
        if !sums.is_empty() {
            self.add(part!("scratch_at"));
        }
        let leaves = u64::from(blocks.rows / blocks.leaf);
        for (k, (slot, _)) in (0..blocks.strip).flat_map(|k| sums.iter().map(move |sum| (k, sum))) {
            self.join_levels(&format!("{slot}_{k}_"), leaves);
            self.joined_levels_of_any(&format!("{slot}_{k}_"), leaves);
            self.line(format_args!("var<private> {slot}_{k}_leaf: Octet;\n"));
        }
        // What is done for the sums of octet k.
        let mut for_each = |signature: &str, done: &dyn Fn(&str, &str, usize) -> String| {
            self.line(format_args!("fn {signature} {{"));
            for k in (0..blocks.strip).filter(|_| !sums.is_empty()) {
                self.line(format_args!("    if (k == {k}u) {{"));
                for (kind, (slot, term)) in sums.iter().enumerate() {
                    self.line(format_args!("        {};", done(&format!("{slot}_{k}_"), term, kind)));
                }
                self.line(format_args!("    }}"));
            }
            self.line(format_args!("}}\n"));
        };
        for_each("clear_sums(k: u32)", &|sum, _, _| format!("{sum}leaf = Octet(vec4<f32>(0.0), vec4<f32>(0.0))"));
        for_each("add_to_leaf(k: u32, found: Gradients)", &|sum, term, _| format!("{sum}leaf += {term}"));
        for_each("join_leaf(k: u32, leaf: u32)", &|sum, _, _| format!("join_{sum}levels(leaf, {sum}leaf)"));
        for_each("keep_sums(team: Team, k: u32, o: u32)", &|sum, _, kind| {
            let leaves = "(team.rows + LEAF - 1u) / LEAF";
            format!("scratch[scratch_at(team.block, team.group, {kind}u, o)] = joined_{sum}levels({leaves})")
        });
    }

    /// Rounds and writes the sum of an octet of channels.
    fn store_sum(&mut self, plan: &Plan, bindings: &[Binding]) {
        let spec = &plan.spec;
        let (rest, accumulates) = (spec.group_length() % 8, spec.backward.is_some_and(|backward| backward.accumulate));
        let written = sums_over_rows(spec);
        for (slot, _) in &written {
            let Some(dtype) = spec.dtype_of(*slot) else { continue };
            let buffer = bindings.iter().find(|b| b.operands.contains(slot)).map_or(String::new(), super::words);
            self.beside(&buffer, plan.access.get(*slot), *slot, dtype);
            if accumulates {
                self.load_of(&buffer, plan.access.get(*slot), *slot, dtype);
            }
        }
        self.line(format_args!("// Rounds and writes the sum of a kind for an octet of channels."));
        self.line(format_args!(
            "fn store_sum(which: u32, o: u32, kind: u32, found: Octet) {{\n    let i = which * HIDDEN + o * 8u;"
        ));
        self.line(format_args!("    var sum = found;"));
        for (kind, (slot, _)) in written.iter().enumerate() {
            let at = format!("params.{slot}_start + i");
            let whole = if rest > 0 { format!("kind == {kind}u && o < ROW_OCTETS - 1u") } else { format!("kind == {kind}u") };
            self.line(format_args!("    if ({whole}) {{"));
            if accumulates {
                self.line(format_args!("        sum = load_{slot}({at}) + sum;"));
            }
            self.line(format_args!("        store_{slot}({at}, sum);\n    }}"));
            if rest > 0 {
                self.line(format_args!("    if (kind == {kind}u && o == ROW_OCTETS - 1u) {{"));
                if accumulates {
                    let element = |k: u64| if k < rest { format!("load_{slot}_one({at} + {k}u)") } else { "0.0".into() };
                    let [low, high] = [0, 4].map(|first| (first..first + 4).map(element).collect::<Vec<_>>().join(", "));
                    self.line(format_args!("        sum = Octet(vec4<f32>({low}), vec4<f32>({high})) + sum;"));
                }
                self.line(format_args!("        store_{slot}_rest({at}, sum, {rest}u);\n    }}"));
            }
        }
        self.line(format_args!("}}\n"));
    }
}
