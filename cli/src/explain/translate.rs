//! A shader in the languages of other graphics interfaces, as naga translates it.

use std::collections::BTreeMap;

use clap::ValueEnum;
use naga::back::{glsl, hlsl, msl, spv};
use naga::proc::BoundsCheckPolicies;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ResourceBinding};
use serde_json::{Value, json};
use wgpu_rmsnorm::Shader;

use crate::failure::Failure;

/// A shading language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// Vulkan's, in binary: set 0, binding numbers as in the WGSL
    Spirv,
    /// DirectX 12's: space 0, registers numbered as the bindings
    Hlsl,
    /// Metal's: buffers numbered as the bindings, and behind them the sizes of the runtime-sized ones
    Msl,
    /// OpenGL's (450): binding numbers as in the WGSL
    Glsl,
}

/// Translates a shader.
pub fn translate(shader: &Shader, target: Target) -> Result<Vec<u8>, Failure> {
    let cannot = |message: String| {
        Failure::new(format_args!("the shader does not translate: {message}"), "please report this with the command")
    };
    let module = naga::front::wgsl::parse_str(&shader.wgsl).map_err(|e| cannot(e.emit_to_string(&shader.wgsl)))?;
    // unpack2x16float: part of WebGPU, and for naga a capability.
    let mut validator = Validator::new(
        ValidationFlags::all(),
        Capabilities::SHADER_FLOAT16_IN_FLOAT32 | Capabilities::SHADER_INT64 | Capabilities::SUBGROUP,
    );
    let info = validator.validate(&module).map_err(|e| cannot(e.emit_to_string(&shader.wgsl)))?;
    let bindings = 0..shader.bindings.len() as u32;
    match target {
        Target::Spirv => spirv(&module, &info),
        Target::Hlsl => hlsl(&module, &info, bindings),
        Target::Msl => msl(&module, &info, bindings),
        Target::Glsl => glsl(&module, &info, bindings),
    }
    .map_err(cannot)
}

/// A translation for machines: text as text, SPIR-V as words.
pub fn to_json(target: Option<Target>, bytes: &[u8]) -> Value {
    match target {
        Some(Target::Spirv) => json!(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>()),
        _ => json!(String::from_utf8_lossy(bytes)),
    }
}

fn at(binding: u32) -> ResourceBinding {
    ResourceBinding { group: 0, binding }
}

fn spirv(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, String> {
    let words = spv::write_vec(module, info, &spv::Options::default(), None).map_err(|e| e.to_string())?;
    Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

fn hlsl(module: &Module, info: &ModuleInfo, bindings: std::ops::Range<u32>) -> Result<Vec<u8>, String> {
    let register = |register| (at(register), hlsl::BindTarget { register, ..Default::default() });
    let options =
        hlsl::Options { binding_map: bindings.map(register).collect(), fake_missing_bindings: false, ..Default::default() };
    let mut text = String::new();
    hlsl::Writer::new(&mut text, &options, &hlsl::PipelineOptions::default())
        .write(module, info, None)
        .map_err(|e| e.to_string())?;
    Ok(text.into_bytes())
}

fn msl(module: &Module, info: &ModuleInfo, bindings: std::ops::Range<u32>) -> Result<Vec<u8>, String> {
    let sizes_buffer = Some(bindings.end as msl::Slot);
    let buffer =
        |number| (at(number), msl::BindTarget { buffer: Some(number as msl::Slot), mutable: true, ..Default::default() });
    let resources = msl::EntryPointResources { resources: bindings.map(buffer).collect(), sizes_buffer, immediates_buffer: None };
    let options = msl::Options {
        lang_version: (2, 3),
        per_entry_point_map: BTreeMap::from([(Shader::ENTRY.to_owned(), resources)]),
        fake_missing_bindings: false,
        ..Default::default()
    };
    let (text, _) = msl::write_string(module, info, &options, &msl::PipelineOptions::default()).map_err(|e| e.to_string())?;
    Ok(text.into_bytes())
}

fn glsl(module: &Module, info: &ModuleInfo, bindings: std::ops::Range<u32>) -> Result<Vec<u8>, String> {
    let options = glsl::Options {
        version: glsl::Version::Desktop(450),
        binding_map: bindings.map(|number| (at(number), number as u8)).collect(),
        ..Default::default()
    };
    let pipeline =
        glsl::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: Shader::ENTRY.into(), multiview: None };
    let mut text = String::new();
    glsl::Writer::new(&mut text, module, info, &options, &pipeline, BoundsCheckPolicies::default())
        .and_then(|mut writer| writer.write())
        .map_err(|e| e.to_string())?;
    Ok(text.into_bytes())
}
