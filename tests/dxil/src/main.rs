//! Compiles the HLSL of every kernel to DXIL, with the compiler that DX12 uses, for shader model 6.0: what `tests/shaders.rs` translates is
//! then known to be taken.
//!
//!     scripts/dxil [LIBRARY]

#[path = "../../common/variants.rs"]
mod variants;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use hassle_rs::{Dxc, DxcCompiler, DxcLibrary};
use naga::back::hlsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use variants::{plans, shaders};
use wgpu_rmsnorm::Shader;

/// What wgpu passes: the language of 2018 is what naga writes.
const ARGUMENTS: [&str; 3] = ["-HV", "2018", "-no-warnings"];

fn main() -> ExitCode {
    let Some(library) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: dxil LIBRARY (libdxcompiler.so or dxcompiler.dll)");
        return ExitCode::from(64);
    };
    match compile_all(library) {
        Ok(count) => {
            println!("{count} kernels compile to DXIL");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn compile_all(library: PathBuf) -> Result<usize, String> {
    let dxc = Dxc::new(Some(library)).map_err(|error| error.to_string())?;
    let (compiler, library) = (dxc.create_compiler(), dxc.create_library());
    let (compiler, library) = (compiler.map_err(|e| e.to_string())?, library.map_err(|e| e.to_string())?);
    if compile(&compiler, &library, "[numthreads(1, 1, 1)] void main() { wrong }", "main").is_ok() {
        return Err("the compiler takes what is wrong".into());
    }
    let mut seen = HashSet::new();
    for plan in plans() {
        for shader in shaders(&plan).filter(|shader| seen.insert(shader.wgsl.clone())) {
            let (text, entry) = to_hlsl(&shader)?;
            compile(&compiler, &library, &text, &entry).map_err(|error| format!("{}\n{error}\n{plan}", shader.label))?;
        }
    }
    Ok(seen.len())
}

/// The text and the name of its entry point.
fn to_hlsl(shader: &Shader) -> Result<(String, String), String> {
    let module = naga::front::wgsl::parse_str(&shader.wgsl).map_err(|error| error.emit_to_string(&shader.wgsl))?;
    let allowed = Capabilities::SHADER_FLOAT16_IN_FLOAT32 | Capabilities::SHADER_INT64 | Capabilities::SUBGROUP;
    let info = Validator::new(ValidationFlags::all(), allowed).validate(&module).map_err(|e| e.emit_to_string(&shader.wgsl))?;
    let options =
        hlsl::Options { shader_model: hlsl::ShaderModel::V6_0, fake_missing_bindings: true, ..Default::default() };
    let mut text = String::new();
    let written = hlsl::Writer::new(&mut text, &options, &hlsl::PipelineOptions::default()).write(&module, &info, None);
    let names = written.map_err(|error| error.to_string())?.entry_point_names;
    let name = names.into_iter().next().ok_or("no entry point")?.map_err(|error| error.to_string())?;
    Ok((text, name))
}

fn compile(compiler: &DxcCompiler, library: &DxcLibrary, text: &str, entry: &str) -> Result<(), String> {
    let blob = library.create_blob_with_encoding_from_str(text).map_err(|error| error.to_string())?;
    match compiler.compile(&blob, "kernel.hlsl", entry, "cs_6_0", &ARGUMENTS, None, &[]) {
        Ok(result) => match result.get_result() {
            Ok(code) if !code.to_vec::<u8>().is_empty() => Ok(()),
            Ok(_) => Err("no DXIL".into()),
            Err(error) => Err(error.to_string()),
        },
        Err((result, _)) => {
            let message = result.get_error_buffer().ok().and_then(|buffer| library.get_blob_as_string(&buffer.into()).ok());
            Err(message.unwrap_or_else(|| "the compiler gives no reason".into()))
        }
    }
}
