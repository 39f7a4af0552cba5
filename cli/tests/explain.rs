//! Plans in words, as text of shaders, and as all that another host needs.

mod common;

use std::collections::BTreeMap;

use common::*;
use serde_json::Value;
use wgpu_rmsnorm::wgpu::{self, util::DeviceExt};
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, Values, verify};

#[test]
fn a_plan_is_explained() {
    let (output, out, err) = run(program(&["explain", "2x256x4096", "--dtype", "bf16", "--preset", "gemma", "--webgpu-limits"]));
    assert!(output.status.success(), "{err}");
    for words in
        ["512 rows of 4096", "input bf16", "rung", "because", "lanes", "binding", "dispatch", "moves", "holds", "Any WebGPU"]
    {
        assert!(out.contains(words), "{words:?} in {out}");
    }
    let (_, out, _) =
        run(program(&["explain", "8x64", "--dtype", "bf16", "--residual-dtype", "f32", "--in-place", "--webgpu-limits"]));
    assert!(
        out.contains("residual f32 added first, the sum rounded") && out.contains("residual_out, 16 bytes at a time"),
        "{out}"
    );
    let (_, out, _) = run(program(&["explain", "8x64", "--residual", "--add-after", "--in-place", "--webgpu-limits"]));
    assert!(out.contains("residual f32 added last") && out.contains("residual, 16 bytes at a time"), "{out}");
    let forced = ["explain", "8x64", "--rung", "looped", "--access", "word", "--width", "4", "--webgpu-limits"];
    let (_, out, _) = run(program(&forced));
    assert!(
        out.contains("looped") && out.contains("it was asked for") && out.contains("a word at a time") && out.contains("4 a row"),
        "{out}"
    );
    let (_, out, _) =
        run(program(&["explain", "8x4099", "--dtype", "f16", "--place", "input=arena@6:5000", "--place", "output=arena@131072"]));
    assert!(out.contains("input, an element at a time; read_write"), "{out}");
}

/// What the cookbook explains is what the program prints.
#[test]
fn the_cookbook_shows_a_plan_of_this_version() {
    let cookbook = include_str!("../../docs/cookbook.md");
    let (_, shown) = cookbook.split_once("$ wgpu-rmsnorm explain 300x768 --dtype f16 --webgpu-limits\n").unwrap();
    let (_, out, _) = run(program(&["explain", "300x768", "--dtype", "f16", "--webgpu-limits"]));
    assert_eq!(shown.split_once("```").unwrap().0, out);
}

#[test]
fn shaders_are_printed_in_every_language() {
    let explain = |target: &[&str]| {
        let mut command = program(&["explain", "16x96", "--dtype", "f16", "--webgpu-limits"]);
        command.args(target);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{target:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let text = |target: &[&str]| String::from_utf8(explain(target)).unwrap();
    let wgsl = text(&["--wgsl"]);
    assert!(wgsl.contains("@compute") && naga::front::wgsl::parse_str(&wgsl).is_ok());
    assert_eq!(explain(&["--target", "spirv"])[..4], 0x0723_0203u32.to_le_bytes());
    assert!(text(&["--target", "hlsl"]).contains("[numthreads("));
    assert!(text(&["--target", "msl"]).contains("kernel void"));
    assert!(text(&["--target", "glsl"]).starts_with("#version 450"));
    let report: Value = serde_json::from_str(&text(&["--target", "hlsl", "--json"])).unwrap();
    assert!(report["translation"].as_str().is_some_and(|text| text.contains("register(t") || text.contains("register(u")));
}

#[test]
fn what_cannot_be_planned_is_explained() {
    let folder = std::env::temp_dir();
    for (arguments, words) in [
        (&["4x0"][..], "hidden: expected at least 1"),
        (&["x"], "whole numbers with x between them"),
        (&["4x-8"], "whole numbers"),
        (&["4x8", "--width", "0"], "0 is not in 1.."),
        (&["4x8", "--place", "input=a@0", "--place", "input=a@64"], "the input is placed twice"),
        (&["4x8", "--place", "weight=a@0:8"], "leave the stride out"),
        (&["18446744073709551615x18446744073709551615x2"], "fewer than 2^64 elements"),
        (&["99999999999999999999x2"], "whole numbers"),
        (&["1000000000000000x1"], "at most 65536 chunks"),
        (&["4x4294967296"], "hidden: expected less than 2^32"),
        (&["4x8", "--place", "scale=a@0"], "there is no operand"),
        (&["4x8", "--place", "bias=a@0"], "the norm has no bias"),
        (&["4x8", "--place", "residual=a@0"], "the norm has no residual"),
        (&["4x8", "--unrounded"], "there is no residual"),
        (
            &["4x8", "--residual", "--add-after", "--dtype", "bf16", "--residual-dtype", "f32", "--in-place"],
            "to lie over the input",
        ),
        (&["4x8", "--residual", "--place", "input=a@0", "--place", "residual_out=a@64"], "residual_out at bytes 64..192"),
        (&["4x8", "--place", "input=a@1"], "input offset: expected a multiple of 4"),
        (&["4x8", "--place", "input=a@0:7"], "row stride: expected at least hidden"),
        (&["4x8", "--place", "input=a@0", "--place", "output=a@4"], "operands overlap"),
        (&["4x8", "--place", "input=a@18446744073709551612"], "fewer than 2^64 bytes"),
        (&["4x8", "--in-place", "--output-dtype", "f16"], "to lie over the input"),
        (&["4x8", "--eps", "inf"], "--eps <NUMBER>"),
        (&["4x8", "--dtype", "f8"], "possible values: f32, f16, bf16"),
        (&["4x8", "--wgsl", "--target", "hlsl"], "cannot be used with"),
    ] {
        refused(&folder, 64, &[&["explain"], arguments].concat(), &[words]);
    }
}

/// The JSON has all that another host needs: this one knows nothing else, and computes the norm with wgpu's own calls.
#[test]
fn the_json_is_enough_to_run_the_norm() {
    // Rows that share words, an arena, a bias; and rows so far apart that a binding holds but two of them.
    let far = ["--place", "input=arena@0:20000000"];
    let arena = ["--place", "input=arena@4098", "--place", "output=arena@65536:136", "--bias"];
    for (shape, dtype, more) in [
        ("3x8", DType::F32, &far[..]),
        ("33x129", DType::F16, &arena),
        ("300x96", DType::BF16, &[]),
        ("5x2000", DType::F32, &["--bias"]),
    ] {
        let arguments = [&["explain", shape, "--dtype", dtype.name(), "--preset", "gemma", "--json"], more].concat();
        let (output, out, err) = run(program(&arguments));
        assert!(output.status.success(), "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        let host = Host::open(&report);
        assert_eq!(report["dispatches"].as_array().map(Vec::len), Some(if shape == "3x8" { 2 } else { 1 }));
        host.compute(dtype, shape, more.contains(&"--bias"), more);
    }
}

struct Host<'a> {
    report: &'a Value,
    gpu: Gpu,
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number, not {value}"))
}

impl<'a> Host<'a> {
    fn open(report: &'a Value) -> Self {
        Self { report, gpu: Gpu::new_blocking().unwrap() }
    }

    fn filled(&self, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.gpu.device().create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage })
    }

    fn pipeline(&self) -> wgpu::ComputePipeline {
        let device = self.gpu.device();
        let entry = |binding: &Value| {
            let ty = match binding["type"].as_str().unwrap() {
                "uniform" => wgpu::BufferBindingType::Uniform,
                "storage" => wgpu::BufferBindingType::Storage { read_only: false },
                "read-only-storage" => wgpu::BufferBindingType::Storage { read_only: true },
                other => panic!("{other}"),
            };
            let has_dynamic_offset = binding["dynamic_offset"].as_bool().unwrap();
            wgpu::BindGroupLayoutEntry {
                binding: number(&binding["binding"]) as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
                count: None,
            }
        };
        let entries: Vec<_> = self.report["bindings"].as_array().unwrap().iter().map(entry).collect();
        let group = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&group)],
            immediate_size: 0,
        });
        let kernel = &self.report["kernel"];
        let source = wgpu::ShaderSource::Wgsl(kernel["wgsl"].as_str().unwrap().to_owned().into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&layout),
            module: &module,
            entry_point: kernel["entry_point"].as_str(),
            compilation_options: Default::default(),
            cache: None,
        })
    }

    /// Fills what the JSON binds with a wave, runs its dispatches, and compares.
    fn compute(&self, dtype: DType, shape: &str, bias: bool, places: &[&str]) {
        let device = self.gpu.device();
        let (rows, hidden) = shape.split_once('x').map(|(r, h)| (r.parse::<u64>().unwrap(), h.parse::<u64>().unwrap())).unwrap();
        let wave = |count: u64, scale: f64| {
            let value = |i: u64| scale * ((i * 7919 % 2003) as f64 / 1001.0 - 1.0);
            Values::round_from(dtype, &(0..count).map(value).collect::<Vec<_>>())
        };
        let (x, w, b) = (wave(rows * hidden, 3.0), wave(hidden, 0.2), wave(hidden, 1.0));
        // Where the command line placed the operands.
        let (from, from_stride, to, stride) = match places {
            [_, "input=arena@4098", ..] => (4098, hidden, 65_536, 136),
            [_, "input=arena@0:20000000"] => (0, 20_000_000, 0, hidden),
            _ => (0, hidden, 0, hidden),
        };
        // One buffer a number, as large as what is bound of it: operands that share one lie where the command line placed them.
        let bindings = self.report["bindings"].as_array().unwrap();
        let dispatches = self.report["dispatches"].as_array().unwrap();
        let end = |binding: &Value| {
            let ranges = dispatches.iter().flat_map(|dispatch| dispatch["ranges"].as_array().unwrap());
            let of_this = ranges.filter(|range| range["binding"] == binding["binding"]);
            of_this.map(|range| number(&range["offset"]) + number(&range["size"])).max().unwrap() as usize
        };
        let mut images: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        let mut output = 0;
        for binding in bindings.iter().filter(|binding| binding["holds"] == "operands") {
            let image = images.entry(number(&binding["buffer"])).or_default();
            image.resize(image.len().max(end(binding)), 0);
            for operand in binding["operands"].as_array().unwrap() {
                let mut put = |at: u64, bytes: &[u8]| image[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
                let row = (hidden * dtype.size()) as usize;
                match operand.as_str().unwrap() {
                    "input" => (0..)
                        .zip(x.as_slice().bytes().chunks(row))
                        .for_each(|(r, bytes)| put(from + r * from_stride * dtype.size(), bytes)),
                    "weight" => put(0, w.as_slice().bytes()),
                    "bias" => put(0, b.as_slice().bytes()),
                    _ => output = number(&binding["buffer"]),
                }
            }
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let buffers: BTreeMap<u64, wgpu::Buffer> =
            images.iter().map(|(number, image)| (*number, self.filled(image, usage))).collect();
        let step = device.limits().min_uniform_buffer_offset_alignment;
        let table: Vec<u8> = (0..256u32)
            .flat_map(|digit| {
                let mut entry = digit.to_le_bytes().to_vec();
                entry.resize(step as usize, 0);
                entry
            })
            .collect();
        let digits = self.filled(&table, wgpu::BufferUsages::UNIFORM);
        let pipeline = self.pipeline();
        let mut encoder = device.create_command_encoder(&Default::default());
        for dispatch in dispatches {
            let words: Vec<u32> = dispatch["params"].as_array().unwrap().iter().map(|word| number(word) as u32).collect();
            let params = self.filled(bytemuck::cast_slice(&words), wgpu::BufferUsages::UNIFORM);
            let bind = |binding: &Value| {
                let (buffer, offset, size) = match binding["holds"].as_str().unwrap() {
                    "params" => (&params, 0, number(&binding["bytes"])),
                    "row_digit" => (&digits, 0, number(&binding["bytes"])),
                    _ => {
                        let range = dispatch["ranges"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .find(|range| range["binding"] == binding["binding"])
                            .unwrap();
                        (&buffers[&number(&binding["buffer"])], number(&range["offset"]), number(&range["size"]))
                    }
                };
                wgpu::BindGroupEntry {
                    binding: number(&binding["binding"]) as u32,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer,
                        offset,
                        size: wgpu::BufferSize::new(size),
                    }),
                }
            };
            let entries: Vec<_> = bindings.iter().map(bind).collect();
            let layout = &pipeline.get_bind_group_layout(0);
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries });
            let offsets: Vec<u32> =
                dispatch["row_digits"].as_array().unwrap().iter().map(|digit| number(digit) as u32 * step).collect();
            let [x, y, z] = [0, 1, 2].map(|axis| number(&dispatch["grid"][axis]) as u32);
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &offsets);
            pass.dispatch_workgroups(x, y, z);
        }
        self.gpu.queue().submit([encoder.finish()]);
        let bytes = self.gpu.read_blocking(&buffers[&output], 0..buffers[&output].size()).unwrap();
        let size = dtype.size();
        let y: Vec<u8> = (0..rows)
            .flat_map(|row| {
                let start = (to + row * stride * size) as usize;
                bytes[start..start + (hidden * size) as usize].to_vec()
            })
            .collect();
        let spec = NormSpec::gemma(hidden, 1e-5).dtype(dtype);
        let (spec, inputs) = (if bias { spec.bias(dtype) } else { spec }, Inputs::new(&x).weight(&w));
        let inputs = if bias { inputs.bias(&b) } else { inputs };
        let outcome = verify::check(&spec, &inputs, Values::from_bytes(dtype, &y).as_slice()).unwrap();
        assert!(outcome.passed() && outcome.elements as u64 == rows * hidden, "{shape} {dtype}: {outcome:?}");
    }
}
