//! Every composed shader parses, validates and translates to SPIR-V, HLSL, MSL and GLSL: no adapter is needed.

mod variants;

use std::collections::HashSet;
use std::path::PathBuf;

use naga::back::{glsl, hlsl, msl, spv};
use naga::proc::BoundsCheckPolicies;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use variants::{plans, shaders};
use wgpu_rmsnorm::{Caps, Layout, NormSpec, Plan, Shader, Slot};

/// Gives the HLSL, which a compiler may want: see `scripts/dxil`.
fn translate(shader: &Shader) -> Result<String, String> {
    let module = naga::front::wgsl::parse_str(&shader.wgsl).map_err(|e| e.emit_to_string(&shader.wgsl))?;
    // unpack2x16float: part of WebGPU, a downlevel flag of wgpu.
    let info = Validator::new(
        ValidationFlags::all(),
        Capabilities::SHADER_FLOAT16_IN_FLOAT32 | Capabilities::SHADER_INT64 | Capabilities::SUBGROUP,
    )
    .validate(&module)
    .map_err(|e| e.emit_to_string(&shader.wgsl))?;
    to_spirv(&module, &info)?;
    let hlsl = to_hlsl(&module, &info)?;
    to_msl(&module, &info)?;
    // naga's GLSL has no 64-bit integers, and OpenGL no subgroups here.
    if shader.wgsl.contains("u64") || shader.wgsl.contains("subgroup") {
        return Ok(hlsl);
    }
    to_glsl(&module, &info)?;
    Ok(hlsl)
}

fn to_spirv(module: &naga::Module, info: &ModuleInfo) -> Result<(), String> {
    let words = spv::write_vec(module, info, &spv::Options::default(), None).map_err(|e| e.to_string())?;
    if words.is_empty() { Err("no SPIR-V".into()) } else { Ok(()) }
}

fn to_hlsl(module: &naga::Module, info: &ModuleInfo) -> Result<String, String> {
    let options = hlsl::Options { shader_model: hlsl::ShaderModel::V6_0, fake_missing_bindings: true, ..Default::default() };
    let mut text = String::new();
    let written = hlsl::Writer::new(&mut text, &options, &hlsl::PipelineOptions::default()).write(module, info, None);
    match &written.map_err(|e| e.to_string())?.entry_point_names[..] {
        [Ok(name)] if name == Shader::ENTRY => Ok(text),
        names => Err(format!("entry points {names:?}")),
    }
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
    // Where a folder is named, the HLSL of every kernel is left there.
    let folder = std::env::var_os("WGPU_RMSNORM_HLSL").map(PathBuf::from);
    let mut seen = HashSet::new();
    for plan in plans() {
        for shader in shaders(&plan) {
            if !seen.insert(shader.wgsl.clone()) {
                continue;
            }
            let hlsl = translate(&shader).unwrap_or_else(|message| panic!("{}\n{message}\n{plan}", shader.label));
            if let Some(folder) = &folder {
                std::fs::write(folder.join(format!("{:04}.hlsl", seen.len())), format!("// {}\n{hlsl}", shader.label)).unwrap();
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
