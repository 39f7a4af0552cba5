//! The planner, without a GPU: cases and properties.

mod check;
mod properties;

use check::check;
use wgpu_rmsnorm::plan::SharedWords;
use wgpu_rmsnorm::verify::{Tier, cases};
use wgpu_rmsnorm::{Access, Caps, DType, DeviceKind, Error, Force, Layout, NormSpec, Placement, Plan, Rung, Slot};

fn plan(spec: &NormSpec, caps: &Caps, rows: u64) -> Plan {
    Plan::new(spec, caps, &Layout::contiguous(spec, rows), rows).unwrap()
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
