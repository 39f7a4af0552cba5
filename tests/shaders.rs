//! Every composed shader parses, validates and translates to SPIR-V, HLSL, MSL and GLSL: no adapter is needed.

use std::collections::HashSet;

use naga::back::{glsl, hlsl, msl, spv};
use naga::proc::BoundsCheckPolicies;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use wgpu_rmsnorm::{Access, Caps, DType, DeviceKind, Force, Layout, NormSpec, Placement, Plan, Preset, Rung, Shader, Slot};

/// Plans that differ in every way in which the text can differ.
fn plans() -> Vec<Plan> {
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

fn translate(shader: &Shader) -> Result<(), String> {
    let module = naga::front::wgsl::parse_str(&shader.wgsl).map_err(|e| e.emit_to_string(&shader.wgsl))?;
    // unpack2x16float: part of WebGPU, a downlevel flag of wgpu.
    let info = Validator::new(
        ValidationFlags::all(),
        Capabilities::SHADER_FLOAT16_IN_FLOAT32 | Capabilities::SHADER_INT64 | Capabilities::SUBGROUP,
    )
    .validate(&module)
    .map_err(|e| e.emit_to_string(&shader.wgsl))?;
    to_spirv(&module, &info)?;
    to_hlsl(&module, &info)?;
    to_msl(&module, &info)?;
    // naga's GLSL has no 64-bit integers, and OpenGL no subgroups here.
    if shader.wgsl.contains("u64") || shader.wgsl.contains("subgroup") {
        return Ok(());
    }
    to_glsl(&module, &info)
}

fn to_spirv(module: &naga::Module, info: &ModuleInfo) -> Result<(), String> {
    let words = spv::write_vec(module, info, &spv::Options::default(), None).map_err(|e| e.to_string())?;
    if words.is_empty() { Err("no SPIR-V".into()) } else { Ok(()) }
}

fn to_hlsl(module: &naga::Module, info: &ModuleInfo) -> Result<(), String> {
    let options = hlsl::Options { fake_missing_bindings: true, ..Default::default() };
    let pipeline = hlsl::PipelineOptions::default();
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None).map_err(|e| e.to_string())?;
    Ok(())
}

fn to_msl(module: &naga::Module, info: &ModuleInfo) -> Result<(), String> {
    let options = msl::Options { fake_missing_bindings: true, lang_version: (2, 3), ..Default::default() };
    msl::write_string(module, info, &options, &msl::PipelineOptions::default()).map_err(|e| e.to_string())?;
    Ok(())
}

fn to_glsl(module: &naga::Module, info: &ModuleInfo) -> Result<(), String> {
    let options = glsl::Options { version: glsl::Version::Desktop(450), ..Default::default() };
    let pipeline =
        glsl::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: Shader::ENTRY.into(), multiview: None };
    let mut text = String::new();
    glsl::Writer::new(&mut text, module, info, &options, &pipeline, BoundsCheckPolicies::default())
        .and_then(|mut writer| writer.write())
        .map_err(|e| e.to_string())?;
    Ok(())
}

#[test]
fn every_shader_translates_to_every_language() {
    let mut seen = HashSet::new();
    for plan in plans() {
        for shader in shaders(&plan) {
            if seen.insert(shader.wgsl.clone())
                && let Err(message) = translate(&shader)
            {
                panic!("{}\n{message}\n{plan}", shader.label);
            }
        }
    }
    // The variants above are meant to differ.
    assert!(seen.len() > 250, "{} distinct shaders", seen.len());
}

/// O4, O10: the uniform is scalars of 32 bits, laid out as on the host.
#[test]
fn o10_params_have_the_layout_of_the_host() {
    use std::mem::offset_of;
    use wgpu_rmsnorm::plan::Params;

    let spec = NormSpec::torch(8, 1e-6);
    let plan = Plan::new(&spec, &Caps::webgpu_defaults(), &Layout::contiguous(&spec, 1), 1).unwrap();
    let module = naga::front::wgsl::parse_str(&plan.shader().wgsl).unwrap();
    let (_, params) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some("Params")).unwrap();
    let naga::TypeInner::Struct { members, span } = &params.inner else { panic!("not a struct") };
    let place = |slot: Slot| {
        let offset = offset_of!(Params, places) + slot as usize * 8;
        [(format!("{slot}_start"), offset), (format!("{slot}_stride"), offset + 4)]
    };
    let numbers = [
        ("eps", offset_of!(Params, eps)),
        ("eps_fraction", offset_of!(Params, eps_fraction)),
        ("eps_exponent", offset_of!(Params, eps_exponent)),
        ("weight_offset", offset_of!(Params, weight_offset)),
        ("scale", offset_of!(Params, scale)),
        ("zero", offset_of!(Params, zero)),
        ("first_block", offset_of!(Params, first_block)),
        ("padding", offset_of!(Params, padding)),
    ];
    let numbers = numbers.map(|(name, offset)| (name.to_owned(), offset));
    let host: Vec<_> = Slot::ALL.into_iter().flat_map(place).chain(numbers).collect();
    assert_eq!(members.len(), host.len());
    for (member, (name, offset)) in members.iter().zip(host) {
        assert_eq!((member.name.as_deref(), member.offset as usize), (Some(name.as_str()), offset));
    }
    assert_eq!(*span as usize, size_of::<Params>());
}

/// The kernels of a plan.
fn shaders(plan: &Plan) -> impl Iterator<Item = Shader> {
    plan.first_shader().into_iter().chain([plan.shader()]).chain(plan.last_shader())
}

/// No word that composition replaces survives it; P6: no literal at the edge of the range; N7: no subgroup built-in where the device
/// has no subgroups.
#[test]
fn texts_hold_no_leftovers() {
    for (plan, shader) in plans().iter().flat_map(|plan| shaders(plan).map(move |shader| (plan, shader))) {
        let code: String = shader.wgsl.lines().map(|l| l.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
        for word in ["OPERAND", "BUFFER_", "set_BUFFER", "DTYPE", "NAME_", "subgroup", "e38", "enable ", "ptr<"] {
            let is_allowed = word == "subgroup" && plan.caps.subgroups;
            assert!(is_allowed || !code.replace("ABSENT_", "").contains(word), "{word} in {}", shader.label);
        }
    }
}

/// The text of a shader without its comments.
fn code(shader: &Shader) -> String {
    shader.wgsl.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// O1: every loop counts towards a bound that it names; there is none that only a `break` would end.
#[test]
fn o1_every_loop_is_counted() {
    let mut loops = 0;
    for shader in plans().iter().flat_map(shaders) {
        let code = code(&shader);
        assert!(!code.contains("loop {") && !code.contains("while "), "{}", shader.label);
        for header in code.lines().filter_map(|line| line.trim().strip_prefix("for (")) {
            let parts: Vec<&str> = header.split(';').collect();
            let [start, condition, step] = parts[..] else { panic!("{header:?} in {}", shader.label) };
            assert!(start.starts_with("var "), "{header:?}");
            let variable = start.trim_start_matches("var ").split([' ', ':']).next().unwrap();
            let bounded = [" < ", " <= ", " >= ", " > "].iter().any(|order| condition.contains(order));
            assert!(bounded && condition.contains(variable) && step.contains(variable), "{header:?} in {}", shader.label);
            loops += 1;
        }
    }
    assert!(loops > 1000, "{loops} loops");
}

/// O2: no array in an invocation's own memory is indexed by a variable, in a loop or elsewhere: old compilers of HLSL unroll such
/// loops, or give up. But for rows of one invocation, which only software devices get: it has no workgroup to share memory with.
#[test]
fn o2_no_local_array_is_indexed_by_a_variable() {
    let mut seen = HashSet::new();
    let shared = plans().into_iter().filter(|plan| !plan.is_alone);
    for shader in shared.flat_map(|plan| shaders(&plan).collect::<Vec<_>>()).filter(|s| seen.insert(s.wgsl.clone())) {
        let module = naga::front::wgsl::parse_str(&shader.wgsl).unwrap();
        let functions =
            module.functions.iter().map(|(_, function)| function).chain(module.entry_points.iter().map(|e| &e.function));
        for function in functions {
            let is_local = |base: naga::Handle<naga::Expression>| match &function.expressions[base] {
                naga::Expression::LocalVariable(_) => true,
                naga::Expression::GlobalVariable(global) => module.global_variables[*global].space == naga::AddressSpace::Private,
                _ => false,
            };
            let by_variable = function
                .expressions
                .iter()
                .any(|(_, expression)| matches!(expression, naga::Expression::Access { base, .. } if is_local(*base)));
            assert!(!by_variable, "{:?} in {}", function.name, shader.label);
        }
    }
}
