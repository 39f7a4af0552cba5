//! The planner, without a GPU: cases and properties.

use proptest::prelude::*;
use wgpu_rmsnorm::plan::SharedWords;
use wgpu_rmsnorm::verify::{Tier, cases};
use wgpu_rmsnorm::{Access, Caps, DType, DeviceKind, Error, Force, Layout, NormSpec, Order, Placement, Plan, Rung, Slot};

fn plan(spec: &NormSpec, caps: &Caps, rows: u64) -> Plan {
    Plan::new(spec, caps, &Layout::contiguous(spec, rows), rows).unwrap()
}

/// What holds for every plan.
fn check(plan: &Plan, caps: &Caps, layout: &Layout) -> Result<(), TestCaseError> {
    // Every row once, in order.
    let mut next = 0;
    for chunk in &plan.chunks {
        prop_assert_eq!(chunk.first_row, next);
        prop_assert!(chunk.rows > 0);
        next += chunk.rows;
        // Every binding within its buffer, the limit and the alignment.
        for (binding, &(offset, size)) in plan.bindings.iter().zip(&chunk.ranges) {
            let buffer = layout.places().map(|(_, p)| p).find(|p| p.buffer == binding.buffer).unwrap();
            prop_assert_eq!(offset % u64::from(caps.storage_alignment), 0);
            prop_assert!(size <= caps.max_binding && size > 0, "{} bytes", size);
            prop_assert!(offset + size <= buffer.size, "{}..{} of {}", offset, offset + size, buffer.size);
            prop_assert_eq!(size % (4 * binding.words), 0);
        }
        // The last element of the chunk lies within the binding of everything that has rows.
        let params = &chunk.params;
        for slot in Slot::ALL.into_iter().filter(|slot| slot.is_by_row()) {
            let Some(dtype) = plan.spec.dtype_of(slot) else { continue };
            let (start, stride) = (params.start(slot), params.stride(slot));
            let index = plan.bindings.iter().position(|b| b.operands.contains(&slot)).unwrap();
            let last = u64::from(start) + (chunk.rows - 1) * u64::from(stride) + plan.spec.length_of(slot);
            prop_assert!(last * dtype.size() <= chunk.ranges[index].1);
            prop_assert!(last <= u64::from(u32::MAX));
        }
        // The grid holds every row, for any number of them, and stays within the limit.
        for rows in [1, chunk.rows / 2 + 1, chunk.rows] {
            let [x, y] = plan.grid(chunk, rows);
            prop_assert!(x >= 1 && y >= 1 && x <= caps.max_workgroups && y <= caps.max_workgroups);
            prop_assert!(u64::from(x) * u64::from(y) * u64::from(plan.rows_per_group()) >= plan.inner_rows(rows));
            prop_assert_eq!(Plan::digits_of(rows).iter().rev().fold(0u64, |n, &d| n * 256 + u64::from(d)), rows);
        }
        // Two writable bindings never overlap: browsers refuse that.
        let writable: Vec<_> = plan.bindings.iter().zip(&chunk.ranges).filter(|(b, _)| b.writable).collect();
        for (i, (a, x)) in writable.iter().enumerate() {
            for (b, y) in &writable[i + 1..] {
                prop_assert!(a.buffer != b.buffer || x.0 + x.1 <= y.0 || y.0 + y.1 <= x.0, "{:?} {:?}", x, y);
            }
        }
    }
    prop_assert_eq!(next, plan.rows);
    no_word_has_two_owners(plan)?;
    every_block_has_room(plan, caps)?;
    words_suit_every_operand(plan)?;
    prop_assert!(plan.workgroup_size() <= caps.max_invocations);
    prop_assert!(plan.width.is_power_of_two() && plan.width <= plan.order.lanes);
    prop_assert!(plan.bindings.len() <= caps.max_storage_buffers as usize);
    // N2, A3: lanes are a power of two, and all of them are someone's.
    prop_assert_eq!(plan.order.lanes / 2 % plan.width, 0);
    Ok(())
}

/// The blocks of a backward pass: each of one chunk, its sums within the scratch buffer, and numbered through.
fn every_block_has_room(plan: &Plan, caps: &Caps) -> Result<(), TestCaseError> {
    let Some(blocks) = &plan.blocks else { return Ok(()) };
    let rows = u64::from(blocks.rows);
    prop_assert!(rows.is_power_of_two() && blocks.leaf.is_power_of_two() && blocks.leaf <= blocks.rows);
    prop_assert_eq!(blocks.count, plan.rows.div_ceil(rows));
    // Either all rows of a block are found before the first strip, or there is but one.
    prop_assert!(blocks.strip >= 1);
    let one_strip = u64::from(blocks.strip) * u64::from(blocks.team) * 8 >= plan.spec.group_length();
    prop_assert!(blocks.batch == blocks.rows || (blocks.batch == 1 && one_strip), "{blocks:?}");
    for chunk in &plan.chunks {
        prop_assert_eq!(chunk.first_row % rows, 0);
        prop_assert_eq!(u64::from(chunk.params.first_block), chunk.first_row / rows);
        // Threads of a workgroup, and the memory that they share.
        prop_assert_eq!(plan.workgroup_size(), blocks.team * plan.rows_at_once);
    }
    let Some(channels) = &blocks.channels else {
        prop_assert_eq!(plan.scratch_bytes(), 0);
        return Ok(());
    };
    let sums = [Slot::GradWeight, Slot::GradBias].into_iter().filter(|slot| plan.spec.dtype_of(*slot).is_some()).count() as u64;
    let octets = plan.spec.group_length().div_ceil(8);
    prop_assert_eq!(plan.scratch_bytes(), (blocks.count * plan.spec.groups * sums * octets * 32).max(32));
    prop_assert!(plan.scratch_bytes() <= caps.max_binding.min(caps.max_buffer));
    // The dispatch that adds them up has a workgroup for every octet of channels and sum.
    let [x, y] = channels.grid.map(u64::from);
    prop_assert!(y.is_multiple_of(sums) && x * (y / sums) * 8 >= plan.spec.length_of(Slot::Weight));
    prop_assert!(x.max(y) <= caps.max_workgroups.into());
    Ok(())
}

/// A1: rows that share a word of the output are in one workgroup, or change it atomically; those that share a 64-bit word, which is not
/// written in parts, are one invocation's.
fn no_word_has_two_owners(plan: &Plan) -> Result<(), TestCaseError> {
    let spec = &plan.spec;
    let size = spec.output_dtype().size();
    let access = plan.access.get(Slot::Output);
    let by_doubles = plan.bindings.iter().any(|b| b.words == 2 && b.operands.contains(&Slot::Output));
    prop_assert_eq!(access == Access::Shifted, matches!(plan.shared_words, SharedWords::InTurns(_)));
    prop_assert!(access != Access::Shifted || plan.is_alone);
    for chunk in plan.chunks.iter().filter(|_| plan.shared_words != SharedWords::Everywhere) {
        let (start, stride) = (u64::from(chunk.params.start(Slot::Output)), u64::from(chunk.params.stride(Slot::Output)));
        let shift = plan.rows_before(chunk);
        if access == Access::Shifted {
            let first = start * size + shift * (8 - spec.group_length() * size % 8);
            let is_shared = matches!(plan.shared_words, SharedWords::InTurns(rows) if rows > 1);
            prop_assert!(!is_shared || first.is_multiple_of(8), "no row before the chunk begins with a word: {:?}", plan);
        }
        let word = if by_doubles { 8 } else { 4 };
        let row_word = |row: u64, element: u64| {
            (start + row / spec.groups * stride + row % spec.groups * spec.group_length() + element) * size / word
        };
        let together = if plan.is_alone { plan.rounds } else { plan.rows_per_group() };
        let owner = |row: u64| (row + shift) / u64::from(together);
        let length = spec.length_of(Slot::Output) / spec.groups;
        for row in 1..plan.inner_rows(chunk.rows).min(40) {
            let shared = row_word(row - 1, length - 1) == row_word(row, 0);
            prop_assert!(!shared || owner(row - 1) == owner(row), "row {} of {:?}", row, plan);
        }
    }
    Ok(())
}

/// Operands that one binding holds agree on its words, and on a device that has no use for 64-bit words there are none.
fn words_suit_every_operand(plan: &Plan) -> Result<(), TestCaseError> {
    for binding in &plan.bindings {
        prop_assert!(binding.words != 2 || plan.caps.long_words);
        for &slot in &binding.operands {
            let suits = match plan.access.get(slot) {
                Access::Element | Access::Word => binding.words == 1,
                Access::Shifted => binding.words == 2,
                Access::Double => binding.words <= 2,
                Access::Wide => true,
            };
            prop_assert!(suits, "{} of {:?}", slot, plan);
        }
    }
    Ok(())
}

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

/// A kernel binds eight storage buffers, the scratch among them.
#[test]
fn a_ninth_buffer_is_refused_with_a_remedy() {
    let caps = Caps::webgpu_defaults();
    let spec = NormSpec::torch(64, 1e-6).bias(DType::F32).gate_output(DType::F32).backward();
    plan(&spec, &caps, 100);
    let saved = spec.saved_rstd();
    let error = Plan::new(&saved, &caps, &Layout::contiguous(&saved, 100), 100).unwrap_err();
    assert!(matches!(error, Error::Limit(_)) && error.to_string().contains("leave saved_rstd out"), "{error}");
    plan(&saved.without_parameter_gradients(), &caps, 100);
}

/// Blocks that one workgroup cannot add up in the iterations that it has (case O11) are refused.
#[test]
fn o11_sums_of_too_many_blocks_are_refused() {
    let caps = Caps { max_binding: 1 << 40, max_buffer: 1 << 40, ..Caps::webgpu_defaults() };
    let heads = NormSpec::torch(64 * 64, 1e-6).heads(64).backward();
    plan(&heads, &caps, 1 << 18);
    let error = Plan::new(&heads, &caps, &Layout::contiguous(&heads, 1 << 23), 1 << 23).unwrap_err();
    assert!(error.to_string().contains("accumulate"), "{error}");
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

#[test]
fn o11_rows_of_real_models_have_gradients_on_four_lanes() {
    let caps = Caps { kind: DeviceKind::Cpu, subgroup_min: 4, subgroup_max: 4, ..Caps::webgpu_defaults() };
    for hidden in [4096, 5120, 6144, 8192, 12_288, 16_384, 32_768, 65_536, 131_072] {
        for spec in [NormSpec::torch(hidden, 1e-6), NormSpec::layer_norm(hidden, 1e-6)] {
            for spec in [spec, spec.gate_input(DType::F32), spec.gate_output(DType::F32)] {
                plan(&spec.backward(), &caps, 100);
            }
        }
    }
}

#[test]
fn more_octets_of_channels_than_an_axis_has_go_in_lines() {
    let spec = NormSpec::layer_norm(600_001, 1e-6).backward();
    let plan = plan(&spec, &Caps::webgpu_defaults(), 2);
    let channels = plan.blocks.as_ref().and_then(|blocks| blocks.channels.as_ref()).unwrap();
    assert_eq!(channels.grid, [65_535, 2 * 2]);
    assert!(channels.grid[0] * 2 * 8 >= 600_001);
}

#[test]
fn b5_indices_stay_below_32_bits() {
    let rows = (1 << 23) + 16;
    let spec = NormSpec::torch(256, 1e-6).dtype(DType::BF16);
    let caps = Caps { max_binding: u64::from(u32::MAX), max_buffer: 1 << 40, ..Caps::webgpu_defaults() };
    let plan = plan(&spec, &caps, rows);
    check(&plan, &caps, &Layout::contiguous(&spec, rows)).unwrap();
    assert!(plan.chunks.len() > 1, "4 GiB do not fit one binding");
}

#[test]
fn b6_strides_are_checked_in_64_bits() {
    // A slice of a fused projection: 2 x 139,811 rows of 5120, strides of 15,360.
    let (rows, hidden, stride) = (2 * 139_811, 5120, 15_360);
    let spec = NormSpec::torch(hidden, 1e-6).dtype(DType::BF16).without_weight();
    let place = |buffer| Placement { buffer, size: rows * stride * 2, offset: 0, row_stride: stride };
    let layout = Layout::of_rows(place(0), place(1));
    let caps = Caps { max_binding: 1 << 31, ..Caps::webgpu_defaults() };
    check(&Plan::new(&spec, &caps, &layout, rows).unwrap(), &caps, &layout).unwrap();
}

#[test]
fn k3_chunks_follow_the_limit_in_force() {
    let spec = NormSpec::torch(4096, 1e-6);
    let caps = Caps { max_binding: (1 << 31) - 1, ..Caps::webgpu_defaults() };
    let plan = plan(&spec, &caps, 160_000);
    assert_eq!(plan.chunks.len(), 2, "2.6 GB under a limit of 2 GiB");
}

#[test]
fn k11_less_workgroup_memory_means_fewer_rows_at_once() {
    let spec = NormSpec::torch(8, 1e-6);
    let caps = Caps::webgpu_defaults();
    let small = Caps { workgroup_memory: 1024, ..caps };
    assert!(plan(&spec, &small, 5000).rows_at_once < plan(&spec, &caps, 5000).rows_at_once);
    let none = Caps { workgroup_memory: 16, ..caps };
    let error = Plan::new(&spec, &none, &Layout::contiguous(&spec, 1), 1).unwrap_err();
    assert!(matches!(error, Error::Limit(_)), "{error}");
}

#[test]
fn f1_no_rows_mean_no_dispatch() {
    let spec = NormSpec::torch(768, 1e-6);
    let plan = plan(&spec, &Caps::webgpu_defaults(), 0);
    assert!(plan.chunks.is_empty());
    assert!(plan.to_string().contains("there are no rows"));
}

#[test]
fn a_row_beyond_every_limit_is_a_typed_error() {
    let spec = NormSpec::torch(1 << 26, 1e-6);
    let error = Plan::new(&spec, &Caps::webgpu_defaults(), &Layout::contiguous(&spec, 1), 1).unwrap_err();
    assert!(error.to_string().contains("shard the row"), "{error}");
}

#[test]
fn o11_a_narrow_workgroup_refuses_a_row_that_takes_too_many_steps() {
    let spec = NormSpec::torch(1 << 22, 1e-6);
    let layout = Layout::contiguous(&spec, 1);
    let caps = Caps::webgpu_defaults();
    Plan::new(&spec, &caps, &layout, 1).unwrap();
    let error = Plan::with(&spec, &caps, &layout, 1, Force::default().width(1)).unwrap_err();
    assert!(matches!(error, Error::Limit(_)), "{error}");
}

/// Weights at the start of a large arena, activations far behind, replaced in place: only what overlaps is bound together.
#[test]
fn distant_operands_of_one_buffer_have_bindings_of_their_own() {
    let spec = NormSpec::torch(4096, 1e-6);
    let rows = Placement { buffer: 0, size: 1 << 30, offset: 1 << 29, row_stride: 4096 };
    let weight = Placement { offset: 0, ..rows };
    let layout = Layout::of_rows(rows, rows).with(Slot::Weight, weight);
    let plan = Plan::new(&spec, &Caps::webgpu_defaults(), &layout, 100).unwrap();
    let operands: Vec<_> = plan.bindings.iter().map(|b| (b.operands.clone(), b.writable)).collect();
    assert_eq!(operands, [(vec![Slot::Weight], true), (vec![Slot::Input, Slot::Output], true)]);
}

#[test]
fn an_alignment_that_is_no_power_of_two_is_rounded_up_to_one() {
    let spec = NormSpec::torch(1, 1e-6).without_weight();
    let layout = Layout::contiguous(&spec, 40);
    for storage_alignment in [0, 1, 17, 24] {
        let caps = Caps { storage_alignment, max_binding: 112, ..Caps::webgpu_defaults() };
        let plan = Plan::new(&spec, &caps, &layout, 40).unwrap();
        let rounded = Caps { storage_alignment: storage_alignment.max(1).next_power_of_two(), ..caps };
        check(&plan, &rounded, &layout).unwrap();
    }
}

#[test]
fn strides_of_weight_and_bias_are_ignored() {
    let spec = NormSpec::torch(8, 1e-6);
    let layout = Layout::contiguous(&spec, 2);
    let layout = layout.with(Slot::Weight, Placement { row_stride: u64::MAX, ..layout.get(Slot::Weight).unwrap() });
    assert_eq!(Plan::new(&spec, &Caps::webgpu_defaults(), &layout, 2).unwrap().bytes(u64::MAX), u64::MAX);
}

#[test]
fn rows_that_share_words_go_in_pairs_or_by_atomics() {
    let shared = |hidden: u64, offset: u64, rows: u64| {
        let spec = NormSpec::torch(hidden, 1e-6).dtype(DType::F16).without_weight();
        let place = |buffer| Placement { buffer, size: 1 << 20, offset, row_stride: hidden };
        let layout = Layout::of_rows(place(0), place(1));
        Plan::new(&spec, &Caps::webgpu_defaults(), &layout, rows).unwrap().shared_words
    };
    assert_eq!(shared(64, 0, 9), SharedWords::No);
    assert_eq!(shared(65, 0, 9), SharedWords::InPairs);
    assert_eq!(shared(65, 2, 9), SharedWords::InPairs);
    assert_eq!(shared(64, 2, 9), SharedWords::Everywhere);
    assert_eq!(shared(64, 2, 1), SharedWords::No);
}

#[test]
fn the_planner_uses_the_widest_access_that_the_layout_allows() {
    let caps = Caps::webgpu_defaults();
    let access = |dtype: DType, hidden: u64, offset: u64, gap: u64| {
        let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype).without_weight();
        let place = |buffer| Placement { buffer, size: 1 << 20, offset, row_stride: hidden + gap };
        let layout = Layout::of_rows(place(0), place(1));
        Plan::new(&spec, &caps, &layout, 9).unwrap().access.get(Slot::Output)
    };
    assert_eq!(access(DType::F32, 64, 0, 0), Access::Wide);
    assert_eq!(access(DType::F32, 65, 0, 0), Access::Word);
    assert_eq!(access(DType::F32, 65, 0, 3), Access::Wide);
    assert_eq!(access(DType::F16, 64, 0, 0), Access::Wide);
    assert_eq!(access(DType::F16, 64, 4, 0), Access::Word);
    assert_eq!(access(DType::F16, 64, 2, 0), Access::Element);
    assert_eq!(access(DType::BF16, 65, 0, 0), Access::Element);
    assert_eq!(access(DType::BF16, 65, 0, 1), Access::Word);
}

/// By 64-bit words, where the device gains by it and the buffer has room for the last.
#[test]
fn rows_that_are_not_aligned_go_by_64_bit_words() {
    let caps = Caps { kind: DeviceKind::Cpu, subgroup_max: 8, long_words: true, ..Caps::webgpu_defaults() };
    let planned = |dtype: DType, hidden: u64, offset: u64, gap: u64, rows: u64, spare: u64| {
        let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype).without_weight();
        let end = offset + (rows * (hidden + gap) - gap) * dtype.size();
        let place = |buffer| Placement { buffer, size: end.next_multiple_of(4) + spare, offset, row_stride: hidden + gap };
        let plan = Plan::new(&spec, &caps, &Layout::of_rows(place(0), place(1)), rows).unwrap();
        (plan.access.get(Slot::Input), plan.access.get(Slot::Output), plan.shared_words)
    };
    let no = SharedWords::No;
    assert_eq!(planned(DType::F32, 66, 0, 0, 600, 4), (Access::Double, Access::Double, no));
    assert_eq!(planned(DType::F16, 68, 0, 0, 600, 4), (Access::Double, Access::Double, no));
    let turns = SharedWords::InTurns;
    assert_eq!(planned(DType::F32, 65, 0, 0, 600, 4), (Access::Shifted, Access::Shifted, turns(2)));
    assert_eq!(planned(DType::F16, 66, 4, 0, 600, 4), (Access::Shifted, Access::Shifted, turns(2)));
    assert_eq!(planned(DType::BF16, 65, 2, 0, 600, 4), (Access::Shifted, Access::Shifted, turns(4)));
    assert_eq!(planned(DType::BF16, 65, 2, 4, 600, 4), (Access::Shifted, Access::Shifted, turns(1)));
    // Every boundary within a word: nobody has both sides.
    assert_eq!(planned(DType::BF16, 66, 2, 0, 600, 4), (Access::Shifted, Access::Element, SharedWords::Everywhere));
    // Rows of several invocations.
    assert_eq!(planned(DType::F32, 65, 0, 0, 6, 4), (Access::Shifted, Access::Word, no));
    // No room for the last word.
    assert_eq!(planned(DType::F32, 65, 0, 0, 601, 0), (Access::Word, Access::Word, no));
}

#[test]
fn short_rows_share_a_workgroup_and_long_rows_do_not() {
    for kind in [DeviceKind::Cpu, DeviceKind::Gpu] {
        let caps = Caps { kind, subgroup_max: 8, ..Caps::webgpu_defaults() };
        // Software gives every row an invocation of its own, where there are enough of them; short ones are kept in registers.
        let is_software = kind == DeviceKind::Cpu;
        let rung = |spec: NormSpec, rows| plan(&spec, &caps, rows).rung;
        assert_eq!(rung(NormSpec::torch(64, 1e-6), 8192), Rung::Registers);
        assert_eq!(rung(NormSpec::torch(4096, 1e-6), 8192), if is_software { Rung::Solo } else { Rung::Registers });
        assert_eq!(rung(NormSpec::torch(4096, 1e-6), 1), if is_software { Rung::Looped } else { Rung::Registers });
        assert_eq!(rung(NormSpec::torch(1 << 16, 1e-6), 8192), if is_software { Rung::Solo } else { Rung::Looped });
        assert_eq!(rung(NormSpec::layer_norm(64, 1e-6), 8192), if is_software { Rung::Solo } else { Rung::Multi });
        let several = plan(&NormSpec::torch(64, 1e-6), &caps, 8192);
        assert!(several.rows_per_group() > 1 && several.kept > 0, "{several:?}");
    }
}

/// Rows of a GPU's order have more lanes than one invocation should name.
#[test]
fn solo_is_refused_where_it_has_too_many_lanes() {
    let force = Force::default().rung(Rung::Solo);
    for hidden in [2048, 4096, 1 << 16] {
        let spec = NormSpec::torch(hidden, 1e-6);
        let plan = Plan::with(&spec, &Caps::webgpu_defaults(), &Layout::contiguous(&spec, 100), 100, force);
        assert!(matches!(plan, Err(Error::Plan(_))), "{hidden}: {plan:?}");
    }
    let spec = NormSpec::torch(2048, 1e-6);
    let software = Caps { kind: DeviceKind::Cpu, subgroup_max: 8, ..Caps::webgpu_defaults() };
    assert_eq!(Plan::with(&spec, &software, &Layout::contiguous(&spec, 1), 1, force).unwrap().rung, Rung::Solo);
}

#[test]
fn a_plan_explains_itself() {
    let spec = NormSpec::llama(129, 1e-5).dtype(DType::BF16);
    let text = plan(&spec, &Caps::webgpu_defaults(), 40).to_string();
    for words in
        ["40 rows of 129", "rung", "order", "share 32-bit words", "output, an element at a time; read_write", "moves", "holds"]
    {
        assert!(text.contains(words), "{words:?} in\n{text}");
    }
}

#[test]
fn real_sizes_are_beyond_a_binding_and_a_grid_axis() {
    let caps = Caps::webgpu_defaults();
    let list: Vec<_> = cases(Tier::Full).into_iter().filter(|case| case.kind == "real sizes").collect();
    assert!(list.len() >= 2 && list.iter().any(|case| case.rows > 65_535));
    for case in list {
        assert!(case.rows * case.spec.hidden * case.spec.input.size() > caps.max_binding, "{}", case.name);
        assert!(plan(&case.spec, &caps, case.rows).chunks.len() > 1, "{}", case.name);
    }
}
