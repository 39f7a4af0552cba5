//! Every way in which the text of a kernel can differ.

use wgpu_rmsnorm::{Access, Caps, DType, DeviceKind, Force, Layout, NormSpec, Placement, Plan, Preset, Rung, Shader, Slot};

/// Plans that differ in every way in which the text can differ.
pub fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut add = |spec: &NormSpec, caps: &Caps, layout: &Layout, rows: u64, force: Force| {
        plans.push(Plan::with(spec, caps, layout, rows, force).unwrap());
    };
    let gpu = Caps::webgpu_defaults();
    let software = Caps { kind: DeviceKind::Cpu, subgroup_min: 8, subgroup_max: 8, subgroups: true, long_words: true, ..gpu };
    for caps in [gpu, software] {
        for hidden in [1, 7, 8, 64, 769, 4096, 4100, 100_001, 1 << 20] {
            // One invocation alone would take too many steps, or too many lanes.
            let suits_solo = caps.kind == DeviceKind::Cpu && hidden < 50_000;
            let rungs = Rung::ALL.into_iter().filter(|rung| *rung != Rung::Solo || suits_solo);
            for (rung, access) in rungs.flat_map(|rung| Access::ALL.map(|access| (rung, access))) {
                let suits_registers = hidden <= 64 || caps.kind == DeviceKind::Gpu && hidden <= 4100;
                let by_words = hidden % 2 == 0 && access != Access::Element;
                for dtype in DType::ALL {
                    let whole_words = by_words || dtype == DType::F32;
                    let applies = match rung {
                        Rung::Registers => suits_registers && whole_words,
                        Rung::Split => hidden > 50_000 && whole_words,
                        _ => true,
                    };
                    if !applies {
                        continue;
                    }
                    let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype).bias(dtype);
                    let layout = Layout::contiguous(&spec, 5);
                    add(&spec, &caps, &layout, 5, Force::default().rung(rung).access(access));
                }
            }
        }
        for preset in Preset::ALL {
            for input in DType::ALL {
                for weight in [None, Some(DType::F32), Some(DType::F16), Some(DType::BF16)] {
                    for output in DType::ALL {
                        for hidden in [7, 8] {
                            let spec = preset.spec(hidden, 1e-6).input(input).output(output);
                            let spec = weight.map_or(spec.without_weight(), |w| spec.weight(w));
                            add(&spec, &caps, &Layout::contiguous(&spec, 300), 300, Force::default());
                        }
                    }
                }
            }
        }
        // A residual of every dtype, as it is and rounded, with and without rows that share words.
        for input in DType::ALL {
            for residual in DType::ALL {
                for hidden in [64, 129] {
                    let spec = NormSpec::llama(hidden, 1e-6).dtype(input).bias(input).add_residual(residual);
                    for spec in [spec, spec.unrounded(), spec.then_add_residual(residual)] {
                        add(&spec, &caps, &Layout::contiguous(&spec, 300), 300, Force::default());
                    }
                }
            }
        }
        family(&mut |spec, rows| add(&spec, &caps, &Layout::contiguous(&spec, rows), rows, Force::default()));
        // One buffer for all: bindings become writable, or one.
        for (dtype, apart) in [(DType::F32, 4096), (DType::F16, 4096), (DType::BF16, 64)] {
            let spec = NormSpec::torch(32, 0.0).dtype(dtype).without_weight();
            let layout = Layout::contiguous(&spec, 1);
            let [input, output] = [Slot::Input, Slot::Output].map(|slot| layout.get(slot).unwrap());
            let arena = Placement { size: 1 << 20, ..input };
            let offset = apart.max(32 * dtype.size());
            add(&spec, &caps, &Layout::of_rows(arena, Placement { offset, ..arena }), 1, Force::default());
            // Half types from an odd element: boundaries of rows inside words.
            let odd = Placement { size: 1 << 20, offset: dtype.size(), ..output };
            add(&spec, &caps, &Layout::of_rows(arena, odd), 5, Force::default());
            add(&spec, &caps, &Layout::in_place(&spec, 70_000), 70_000, Force::default());
        }
    }
    plans
}

/// What stands around a norm, in the combinations in which parts meet.
fn family(add: &mut dyn FnMut(NormSpec, u64)) {
    for dtype in DType::ALL {
        for hidden in [64, 132, 129] {
            for base in [NormSpec::torch(hidden, 1e-6), NormSpec::llama(hidden, 1e-6), NormSpec::layer_norm(hidden, 1e-6)] {
                let spec = base.dtype(dtype);
                let mut all = vec![
                    spec.rstd(),
                    spec.gate_input(dtype).rstd(),
                    spec.gate_input(dtype).sigmoid(),
                    spec.gate_output(dtype).bias(dtype),
                    spec.add_residual(dtype).gate_output(DType::F32),
                    spec.gate_output(dtype).quantized(DType::I8),
                    spec.quantized_by(DType::F8E4M3, 0.1),
                ];
                all.extend(DType::CODES.map(|code| spec.quantized(code).rstd()));
                all.extend(DType::CODES.map(|code| spec.quantized(code).without_bias()));
                if !base.centered {
                    all.extend([spec.partial(hidden / 3), spec.stats(), spec.apply(3 * hidden, 3).rstd()]);
                }
                let groups = if hidden == 129 { 3 } else { 4 };
                all.extend([spec.groups(groups), spec.heads(groups).rstd(), spec.query_and_key_heads(1, groups - 1)]);
                all.extend(backward(spec, groups));
                all.into_iter().for_each(|spec| add(spec, 300));
            }
        }
    }
}

/// Backward passes, in the combinations in which parts meet.
fn backward(spec: NormSpec, groups: u64) -> Vec<NormSpec> {
    let dtype = spec.input;
    let mut all = vec![
        spec.backward(),
        spec.without_weight().backward(),
        spec.bias(DType::F32).backward().accumulate(),
        spec.backward().parameter_gradients(DType::F32),
        spec.backward().without_parameter_gradients(),
        spec.add_residual(dtype).backward().grad_residual_out(DType::F32),
        spec.gate_input(dtype).backward(),
        spec.gate_input(dtype).sigmoid().groups(groups).backward(),
        spec.gate_output(dtype).heads(groups).backward(),
        spec.gate_output(dtype).bias(dtype).sigmoid().query_and_key_heads(1, groups - 1).backward(),
    ];
    if !spec.centered {
        all.extend([spec.backward().saved_rstd(), spec.partial(spec.hidden / 3).backward()]);
    }
    all
}

/// The kernels of a plan.
pub fn shaders(plan: &Plan) -> impl Iterator<Item = Shader> {
    plan.first_shader().into_iter().chain([plan.shader()]).chain(plan.last_shader())
}
