//! Which parts a norm is made of: the places where members of the family differ.

use super::text::Text;
use super::{buffer_of, is_atomic, operand_after, operand_before, words};
use crate::dtype::DType;
use crate::gate::Activation;
use crate::groups::WeightOf;
use crate::plan::{Access, Binding, Plan, SharedWords};
use crate::slot::Slot;
use crate::spec::NormSpec;

impl Text {
    /// How the dtypes at hand are decoded and encoded.
    pub fn codecs(&mut self, spec: &NormSpec) {
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
    pub fn buffers(&mut self, plan: &Plan, bindings: &[Binding]) {
        for binding in bindings {
            let (read, write) = match () {
                () if is_atomic(plan, binding) => (part!("buffer_atomic"), part!("buffer_atomic_write")),
                () if binding.words == 4 && plan.caps.long_words => (part!("buffer_long"), part!("buffer_long_write")),
                () if binding.words == 4 => (part!("buffer_wide"), part!("buffer_wide_write")),
                () if binding.words == 2 => (part!("buffer_double"), part!("buffer_double_write")),
                () => (part!("buffer_word"), part!("buffer_word_write")),
            };
            self.add_for(read, &[("BUFFER", &words(binding))]);
            if binding.operands.iter().any(|slot| slot.is_written()) {
                self.add_for(write, &[("BUFFER", &words(binding))]);
            }
        }
    }

    pub fn load(&mut self, plan: &Plan, slot: Slot) {
        if let Some(dtype) = plan.spec.dtype_of(slot) {
            self.load_of(&buffer_of(plan, slot), plan.access.get(slot), slot, dtype);
        }
    }

    /// The functions that load an operand through a buffer.
    pub fn load_of(&mut self, buffer: &str, access: Access, slot: Slot, dtype: DType) {
        let parts: &[&str] = match (dtype.is_half(), access) {
            (true, Access::Element) => &[part!("load_half_any"), part!("load_half_one")],
            (true, Access::Shifted) => &[part!("load_half_shifted"), part!("load_half_one")],
            (true, _) => &[part!("load_half"), part!("load_half_one")],
            (false, Access::Shifted) => &[part!("load_f32_shifted"), part!("load_f32_one")],
            (false, _) => &[part!("load_f32"), part!("load_f32_one")],
        };
        for part in parts {
            self.add_for(part, &[("OPERAND", slot.name()), ("BUFFER", buffer), ("DTYPE", dtype.name())]);
        }
    }

    /// Where the factors and summands of a row begin.
    pub fn channel_starts(&mut self, spec: &NormSpec) {
        self.add(match spec.weight_of {
            WeightOf::Row => part!("weight_of_row"),
            WeightOf::Group => part!("weight_of_group"),
            WeightOf::QueryAndKey(_) => part!("weight_of_query_and_key"),
        });
    }

    /// Factors and summands of channels; constants where there are none.
    pub fn channels(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        for slot in [Slot::Weight, Slot::Bias].into_iter().filter(|slot| spec.dtype_of(*slot).is_none()) {
            self.add_for(part!("load_constant"), &[("OPERAND", slot.name())]);
        }
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
    pub fn value(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        self.beside_norm("before", operand_before(spec));
        if let Some(residual) = spec.residual_dtype() {
            let other = if spec.adds_after() { spec.norm_dtype() } else { spec.input };
            let is_f16 = other == DType::F16 && residual == DType::F16;
            self.add(if is_f16 { part!("sum_plain") } else { part!("sum_exact") });
        }
        if spec.gate.is_some() {
            self.add(part!("sigmoid"));
            self.add(match spec.activation {
                Activation::Silu => part!("gate_silu"),
                Activation::Sigmoid => part!("gate_sigmoid"),
            });
        }
        match spec.residual_out_dtype() {
            Some(dtype) => {
                self.beside(&buffer_of(plan, Slot::ResidualOut), plan.access.get(Slot::ResidualOut), Slot::ResidualOut, dtype);
                self.cast_as("sum", spec.sum_rounded_to());
                self.add(part!("value_sum"));
            }
            None if spec.gates_input() => self.add(part!("value_gated")),
            None => self.add(part!("value_input")),
        }
        // Where every element is summed first, rare products can leave it to the row's rescue.
        if spec.gates_input() && spec.shards().is_none() && spec.statistics_length() == spec.group_length() {
            self.add(part!("quick_gated"));
            self.add(part!("values_quick"));
        } else {
            self.add(part!("values"));
        }
        self.add(part!("split_at"));
    }

    /// How the values of a row are summed.
    pub fn sums(&mut self, plan: &Plan) {
        self.rest_octets(plan);
        let sums = if plan.spec.centered { &["", "second_"][..] } else { &[""] };
        for name in sums {
            match plan.is_alone {
                true => self.lanes_alone(name, &plan.order),
                false => self.levels(name, plan.order.blocks()),
            }
        }
        self.add(if plan.is_alone { part!("lanes_alone") } else { part!("lanes_shared") });
        if !plan.is_alone {
            self.join_lanes(plan);
        }
        if plan.spec.centered && !plan.is_alone {
            self.add(part!("lanes_shared_second"));
        }
        for part in [part!("lane_sums"), part!("peak")] {
            self.add(part);
        }
        if plan.spec.centered {
            return;
        }
        self.add(part!("squares"));
        self.add(part!("square_sums"));
        match () {
            () if plan.kept > 0 => self.plain_sum_kept(plan),
            () if plan.pieces > 1 => self.plain_sum_of_pieces(plan),
            // A gate is long: once is enough.
            () if plan.is_alone && !plan.spec.gates_input() => self.plain_sum_alone(&plan.order),
            () => self.add(part!("plain_sum")),
        }
    }

    /// From what is normalised to what is written.
    pub fn result(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        self.add(if spec.centered { part!("centered_at_mean") } else { part!("centered_not") });
        self.add(if spec.statistics_length() < spec.group_length() { part!("far_perhaps") } else { part!("far_never") });
        self.cast_normalized(spec);
        self.add(if spec.bias.is_some() { part!("bias_present") } else { part!("bias_absent") });
        self.add(part!("finish"));

        let gate = spec.output_gate();
        self.beside_norm("after", operand_after(spec));
        let half = Some(spec.norm_dtype()).filter(|dtype| dtype.is_half());
        match gate {
            Some(gate) => {
                self.cast_as("normed", half.filter(|_| gate.rounded));
                self.add(if gate.rounded { part!("gate_rounded") } else { part!("gate_unrounded") });
                self.add(part!("after_gate"));
                if gate.rounded {
                    self.add(part!("after_rescued"));
                }
            }
            None if spec.adds_after() => {
                self.cast_as("normed", half);
                self.add(part!("after_sum"));
                self.add(part!("after_rescued"));
            }
            None => {
                self.add(part!("after_none"));
                self.add(part!("after_rescued"));
            }
        }
    }

    /// How a row is written, and what is written beside it.
    pub fn output(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        let output = spec.output_dtype();
        let store = match (output.size(), plan.access.get(Slot::Output)) {
            (1, _) => part!("store_codes"),
            (2, Access::Shifted) => part!("store_half_shifted"),
            (2, _) => part!("store_half"),
            (_, Access::Shifted) => part!("store_f32_shifted"),
            _ => part!("store_f32"),
        };
        self.add_for(store, &[("BUFFER", buffer_of(plan, Slot::Output).as_str()), ("DTYPE", output.name())]);
        self.edges(plan);
        match spec.rstd {
            true => self.add_for(part!("rstd_kept"), &[("BUFFER", &buffer_of(plan, Slot::Rstd))]),
            false => self.add(part!("rstd_absent")),
        }
        if spec.quantized.is_some() {
            self.add(part!("quantized"));
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
    pub fn scale(&mut self, plan: &Plan) {
        let spec = &plan.spec;
        if spec.shards().is_some() {
            return self.add(file!("apply"));
        }
        self.add(match (spec.writes_scale(), spec.largest_product_will_do()) {
            (false, _) => part!("note_nothing"),
            (true, false) => part!("note_unused"),
            (true, true) => part!("note_product"),
        });
        self.add(match spec.centered {
            true => file!("layer_norm"),
            false => file!("rms_norm"),
        });
    }

    /// How the normalised value is rounded before the weight.
    pub fn cast_normalized(&mut self, spec: &NormSpec) {
        match spec.normalized_dtype() {
            None => self.add(part!("cast_none")),
            Some(dtype) => self.add_for(part!("cast_half"), &[("DTYPE", dtype.name())]),
        }
    }

    pub fn cast_as(&mut self, what: &str, dtype: Option<DType>) {
        match dtype {
            Some(dtype) => self.add_for(part!("cast_as_half"), &[("OPERAND", what), ("DTYPE", dtype.name())]),
            None => self.add_for(part!("cast_as_it_is"), &[("OPERAND", what)]),
        }
    }

    /// Functions that write rows beside the main output.
    pub fn beside(&mut self, buffer: &str, access: Access, slot: Slot, dtype: DType) {
        let names = [("OPERAND", slot.name()), ("BUFFER", buffer), ("DTYPE", dtype.name())];
        let parts: &[&str] = match (dtype, access) {
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
            Access::Shifted => part!("edges_in_turns"),
            _ if plan.order.rest() > 0 => part!("edges_rest"),
            _ => part!("edges_none"),
        };
        if part != part!("edges_none") {
            self.add(part!("edge_octet"));
        }
        if [part!("edges_rest"), part!("edges_in_turns")].contains(&part) {
            self.end_of_row(plan);
        }
        self.add(part);
    }

    /// The elements that are summed behind the last whole octet, by name: there is no loop over them, and none where there are
    /// none.
    pub fn rest_octets(&mut self, plan: &Plan) {
        let order = &plan.order;
        let rest = End { plan, octets: order.summed_octets(), rest: order.summed_rest() };
        self.line(format_args!("// The elements that are summed behind the last whole octet, and zeros."));
        self.line(format_args!("fn rest_octets(row: Row) -> RestOctets {{"));
        self.octet_of(&rest, "x", Some(Slot::Input), ["load_input", "load_input_one"], "row.input + ");
        self.octet_of(&rest, "p", operand_before(&plan.spec), ["before_at", "before_one"], "row, ");
        self.line(format_args!("    return RestOctets(x, p);\n}}\n"));
    }

    /// All that belongs to the elements behind the last whole octet of a row, by name too.
    fn end_of_row(&mut self, plan: &Plan) {
        let (order, spec) = (&plan.order, &plan.spec);
        let end = End { plan, octets: order.whole_octets(), rest: order.rest() };
        let given = |slot: Slot| spec.dtype_of(slot).map(|_| slot);
        self.line(format_args!("// What belongs to the elements of a row behind its last whole octet."));
        self.line(format_args!("fn end_of(row: Row) -> Rest {{"));
        self.octet_of(&end, "x", Some(Slot::Input), ["load_input", "load_input_one"], "row.input + ");
        self.octet_of(&end, "p", operand_before(spec), ["before_at", "before_one"], "row, ");
        self.octet_of(&end, "q", operand_after(spec), ["after_at", "after_one"], "row, ");
        let [weight, bias] = [Slot::Weight, Slot::Bias].map(|slot| format!("params.{slot}_start + row.weight + "));
        self.octet_of(&end, "w", given(Slot::Weight), ["load_weight", "load_weight_one"], &weight);
        self.octet_of(&end, "b", given(Slot::Bias), ["load_bias", "load_bias_one"], &bias);
        self.line(format_args!("    return Rest(x, p, q, Octet(offset_weight(w[0]), offset_weight(w[1])), b);\n}}\n"));
    }

    /// Names these elements of an operand, and zeros behind them: picked from an octet where one can be read that has them, else loaded
    /// one by one. `calls` load an octet and an element, from `from` and what is added to it.
    fn octet_of(&mut self, end: &End<'_>, name: &str, slot: Option<Slot>, calls: [&str; 2], from: &str) {
        let first = 8 * end.octets;
        let [load, load_one] = calls;
        let picked = slot.and_then(|slot| end.octet_with_all(slot));
        if let Some(octet) = picked {
            self.line(format_args!("    let {name}_octet = {load}({from}{octet}u);"));
        }
        let element = |i: u64| match picked {
            _ if i >= end.rest => "0.0".to_owned(),
            Some(octet) => format!("{name}_octet[{}][{}]", (first + i - octet) / 4, (first + i - octet) % 4),
            None => format!("{load_one}({from}{}u)", first + i),
        };
        let [low, high] = [0, 4].map(|from| (from..from + 4).map(element).collect::<Vec<_>>().join(", "));
        self.line(format_args!("    let {name} = Octet(vec4<f32>({low}), vec4<f32>({high}));"));
    }
}

/// The elements behind the last of some octets.
struct End<'a> {
    plan: &'a Plan,
    octets: u64,
    rest: u64,
}

impl End<'_> {
    /// Where an octet begins that has them all and can be read, in fewer pieces than one by one: one that ends with them, or begins with
    /// them.
    fn octet_with_all(&self, slot: Slot) -> Option<u64> {
        let size = self.plan.spec.dtype_of(slot)?.size();
        let end = 8 * self.octets + self.rest;
        let (unit, pieces) = match self.plan.access.get(slot) {
            Access::Element => (size, 5),
            Access::Word => (4, 2 * size),
            Access::Shifted => (size, size + 1),
            Access::Double => (8, size),
            Access::Wide => (16, size),
        };
        // Up to the end of the last 16 bytes.
        let is_bound = self.plan.bindings.iter().any(|b| b.words == 4 && b.operands.contains(&slot));
        match () {
            () if self.rest <= pieces => None,
            () if is_bound && (size == 2 || self.rest > 4) => Some(8 * self.octets),
            () if end >= 8 && (end * size).is_multiple_of(unit) => Some(end - 8),
            () => None,
        }
    }
}
