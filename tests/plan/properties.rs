//! Any plan that is made keeps what `check` asks of every plan; what cannot be planned is a typed error.

use proptest::prelude::*;
use wgpu_rmsnorm::{Caps, DType, DeviceKind, Error, Layout, NormSpec, Order, Placement, Plan, Slot};

use crate::check::check;

/// Every operand from an offset on, with a gap between its rows: in a buffer of its own, or one after the other in one.
fn spread(spec: &NormSpec, rows: u64, [offset, gap]: [u64; 2], arena: bool) -> Layout {
    let mut layout = Layout::contiguous(spec, rows);
    let mut end = 0;
    for (slot, place) in layout.places_mut() {
        let size = spec.dtype_of(slot).map_or(4, DType::size);
        // Codes keep their rows at whole words.
        let unit = size.max(if size == 1 { 4 } else { 1 });
        place.offset = if arena { u64::next_multiple_of(end, unit) } else { 0 } + offset * unit;
        place.row_stride = spec.dense_stride(slot) + gap * unit / size;
        let count = if slot.is_by_row() { rows.max(1) } else { 1 };
        end = place.offset + count * place.row_stride.max(spec.length_of(slot)) * size;
        place.buffer = if arena { 0 } else { slot as u32 };
        place.size = end.next_multiple_of(4);
    }
    let size = end.next_multiple_of(4);
    layout.places_mut().filter(|_| arena).for_each(|(_, place)| place.size = size);
    layout
}

fn dtypes() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL.to_vec())
}

/// Numbers of every magnitude.
fn anything() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
}

prop_compose! {
    fn any_caps()(
        cpu in any::<bool>(), subgroup in 0u32..7, binding in 12u32..31, alignment in 4u32..11, groups in 1u32..17,
        invocations in 0u32..11, long_words in any::<bool>(),
    ) -> Caps {
        Caps {
            kind: if cpu { DeviceKind::Cpu } else { DeviceKind::Gpu },
            subgroup_max: 1 << subgroup,
            max_binding: 1 << binding,
            storage_alignment: 1 << alignment,
            max_workgroups: (1 << groups) - 1,
            max_invocations: 1 << invocations,
            long_words,
            ..Caps::webgpu_defaults()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn every_backward_plan_covers_every_row_within_the_limits(
        caps in any_caps(), hidden in 1u64..40_000, rows in 0u64..50_000, input in dtypes(), weight in dtypes(), grad in dtypes(),
        kind in 0u8..8, heads in 1u64..40, accumulate in any::<bool>(), at in [0u64..600, 0u64..5], arena in any::<bool>(),
    ) {
        let spec = NormSpec::torch(hidden * heads, 1e-6).input(input).weight(weight);
        let spec = match kind {
            0 => NormSpec::layer_norm(hidden, 1e-6).dtype(input).backward(),
            1 => spec.bias(grad).heads(heads).backward(),
            2 => spec.groups(heads).gate_input(grad).backward(),
            3 => spec.gate_output(grad).backward(),
            4 => spec.add_residual(grad).backward().grad_residual_out(grad),
            5 => spec.backward().saved_rstd().parameter_gradients(grad),
            6 => spec.without_weight().backward(),
            _ => spec.query_and_key_heads(heads, heads).backward(),
        };
        prop_assume!(spec.validate().is_ok());
        let spec = if accumulate && spec.dtype_of(Slot::GradWeight).is_some() { spec.accumulate() } else { spec };
        let layout = spread(&spec, rows, at, arena);
        match Plan::new(&spec, &caps, &layout, rows) {
            Ok(plan) => check(&plan, &caps, &layout)?,
            Err(error) => prop_assert!(matches!(error, Error::Limit(_)), "{}", error),
        }
    }

    #[test]
    fn scratch_is_little_or_little_beside_what_is_moved(
        hidden in 1u64..32_769, rows in 1u64..200_000, dtype in dtypes(), has_mean in any::<bool>(),
    ) {
        // Of longer rows, or on software drivers, an invocation would take too many steps for more rows.
        let caps = Caps { kind: DeviceKind::Gpu, max_binding: 1 << 40, max_buffer: 1 << 40, ..Caps::webgpu_defaults() };
        let spec = if has_mean { NormSpec::layer_norm(hidden, 1e-6) } else { NormSpec::torch(hidden, 1e-6) };
        let spec = spec.dtype(dtype).backward();
        let Ok(plan) = Plan::new(&spec, &caps, &Layout::contiguous(&spec, rows), rows) else { return Ok(()) };
        let moved = 3 * rows * hidden * dtype.size();
        prop_assert!(plan.scratch_bytes() <= (16 << 20).max(moved / 50), "{} of {moved}: {:?}", plan.scratch_bytes(), plan.blocks);
    }

    #[test]
    fn every_plan_covers_every_row_within_the_limits(
        caps in any_caps(), hidden in 1u64..100_000, rows in 0u64..5_000, input in dtypes(), weight in dtypes(), output in dtypes(),
        offset in 0u64..600, gap in 0u64..5, arena in any::<bool>(), far in any::<bool>(), residual in dtypes(), added in 0u8..3,
    ) {
        let spec = NormSpec::torch(hidden, 1e-6).input(input).weight(weight).output(output);
        let spec = match added {
            0 => spec,
            1 => spec.add_residual(residual),
            _ => spec.then_add_residual(residual),
        };
        let output = spec.output_dtype();
        let row_bytes = |d: DType| rows.max(1) * (hidden + gap) * d.size();
        let start = |d: DType, n: u64| n.next_multiple_of(d.size()) + offset * d.size();
        let input_at = start(input, 0);
        let weight_at = start(weight, if arena { input_at + row_bytes(input) } else { 0 });
        let space = if far { 1 << 16 } else { 0 };
        let output_at = start(output, if arena { weight_at + hidden * weight.size() + space } else { 0 });
        let residual_at = start(residual, if arena { output_at + row_bytes(output) } else { 0 });
        let sum_at = start(residual, if arena { residual_at + row_bytes(residual) } else { 0 });
        let rows_end = (sum_at + row_bytes(residual)).max(output_at + row_bytes(output)).max(input_at + row_bytes(input));
        let size = rows_end.max(weight_at + hidden * 4).next_multiple_of(4);
        let place = |buffer: u32, offset| Placement { buffer: if arena { 0 } else { buffer }, size, offset, row_stride: hidden + gap };
        let mut layout = Layout::of_rows(place(0, input_at), place(2, output_at)).with(Slot::Weight, place(1, weight_at));
        for (slot, place) in [(Slot::Residual, place(3, residual_at)), (Slot::ResidualOut, place(4, sum_at))] {
            layout = if spec.dtype_of(slot).is_some() { layout.with(slot, place) } else { layout };
        }
        match Plan::new(&spec, &caps, &layout, rows) {
            Ok(plan) => check(&plan, &caps, &layout)?,
            // A limit may be in the way, and nothing else.
            Err(error) => prop_assert!(matches!(error, Error::Limit(_)), "{}", error),
        }
        // With the limits of an ordinary GPU none is.
        let generous = Caps { max_binding: 1 << 31, max_invocations: 1024, workgroup_memory: 32 << 10, ..Caps::webgpu_defaults() };
        if size < 1 << 30 {
            check(&Plan::new(&spec, &generous, &layout, rows).unwrap(), &generous, &layout)?;
        }
    }

    #[test]
    fn every_plan_of_the_family_covers_every_row_within_the_limits(
        caps in any_caps(), group in 1u64..3_000, groups in 1u64..9, rows in 0u64..3_000, dtype in dtypes(), other in dtypes(),
        member in 0u8..10, in_place in any::<bool>(), bias in any::<bool>(), rstd in any::<bool>(), at in [0u64..600, 0u64..5],
        arena in any::<bool>(),
    ) {
        let hidden = group * groups;
        let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
        let spec = if bias { spec.bias(other) } else { spec };
        let mut spec = match member {
            0 => spec.groups(groups),
            1 => spec.heads(groups).gate_output(other),
            2 => spec.query_and_key_heads(1, groups),
            3 => spec.partial(group).gate_output(other),
            4 => NormSpec::layer_norm(hidden, 1e-6).dtype(dtype).groups(groups),
            5 => spec.quantized(DType::I8),
            6 => spec.add_residual(other).gate_output(dtype).quantized_by(DType::F8E4M3, 0.1),
            7 => spec.without_bias().stats(),
            8 => spec.apply(hidden + 5, groups),
            _ => spec.then_add_residual(other).heads(groups),
        };
        spec.hidden = if member == 2 { group * (groups + 1) } else { hidden };
        spec.rstd = rstd && member != 7;
        let may_replace = in_place && spec.input == spec.output_dtype() && member != 7;
        let layout = if may_replace { Layout::in_place(&spec, rows) } else { spread(&spec, rows, at, arena) };
        match Plan::new(&spec, &caps, &layout, rows) {
            Ok(plan) => check(&plan, &caps, &layout)?,
            Err(error) => prop_assert!(matches!(error, Error::Limit(_)), "{}", error),
        }
        let generous = Caps { max_binding: 1 << 31, max_invocations: 1024, workgroup_memory: 32 << 10, ..Caps::webgpu_defaults() };
        check(&Plan::new(&spec, &generous, &layout, rows).unwrap(), &generous, &layout)?;
    }

    #[test]
    fn the_order_depends_on_hidden_and_device_alone(caps in any_caps(), other in any_caps(), hidden in 1u64..3_000_000) {
        let like = Caps { kind: caps.kind, subgroup_min: caps.subgroup_min, subgroup_max: caps.subgroup_max, ..other };
        prop_assert_eq!(Order::new(hidden, &caps), Order::new(hidden, &like));
    }

    #[test]
    fn every_element_belongs_to_one_lane(caps in any_caps(), hidden in 1u64..20_000) {
        // The kernel's loops, in Rust: octets by full steps, then the step in which some lanes have one.
        let order = Order::new(hidden, &caps);
        let lanes = order.octet_lanes();
        let mut seen = vec![0u32; hidden as usize];
        for lane in 0..lanes {
            for step in 0..order.steps() {
                let octet = step * lanes + lane;
                prop_assert!(step < order.full_steps() || octet * 8 >= order.full_steps() * lanes * 8);
                for i in (octet * 8..octet * 8 + 8).filter(|&i| i < hidden) {
                    prop_assert_eq!(i / 4 % u64::from(order.lanes), 2 * lane + (i / 4) % 2);
                    seen[i as usize] += 1;
                }
            }
        }
        prop_assert!(seen.iter().all(|&n| n == 1));
    }

    #[test]
    fn no_arguments_overflow_or_panic(
        caps in any_caps(), hidden in anything(), rows in anything(), offset in anything(), stride in anything(), size in anything(),
    ) {
        let spec = NormSpec::torch(hidden, 1e-6).without_weight().dtype(DType::BF16);
        let place = Placement { buffer: 0, size, offset, row_stride: stride };
        let layout = Layout::of_rows(place, Placement { buffer: 1, ..place });
        if let Ok(plan) = Plan::new(&spec, &caps, &layout, rows) {
            check(&plan, &caps, &layout)?;
        }
    }
}
