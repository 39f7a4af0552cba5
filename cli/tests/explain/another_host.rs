//! A host that knows a norm from its JSON alone.

use std::collections::BTreeMap;

use serde_json::Value;
use wgpu_rmsnorm::verify::{self, Data, Regime, Weights};
use wgpu_rmsnorm::wgpu::{self, util::DeviceExt};
use wgpu_rmsnorm::{Gpu, NormSpec, Outputs, Slot, Values};

/// A device, and all that it is told of the norm.
pub struct Host<'a> {
    report: &'a Value,
    gpu: Gpu,
}

/// A number that must be there.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number, not {value}"))
}

impl<'a> Host<'a> {
    pub fn open(report: &'a Value) -> Self {
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

    /// Fills what the JSON binds, runs its dispatches, and compares. `places` are where the command line put operands: the first
    /// byte, and the elements from row to row.
    pub fn compute(&self, spec: &NormSpec, rows: u64, places: &[(Slot, u64, u64)]) {
        let device = self.gpu.device();
        let data = Data::new(spec, rows, Regime::Normal(3.0), Weights::Usual);
        // First byte, and bytes from row to row and of a row.
        let lies = |slot: Slot| {
            let size = spec.dtype_of(slot).unwrap().size();
            let (_, start, stride) = *places.iter().find(|(s, ..)| *s == slot).unwrap_or(&(slot, 0, spec.dense_stride(slot)));
            (start as usize, (stride * size) as usize, (spec.length_of(slot) * size) as usize)
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
        let mut outputs: Vec<(Slot, u64)> = Vec::new();
        for binding in bindings.iter().filter(|binding| binding["holds"] == "operands") {
            let buffer = number(&binding["buffer"]);
            let image = images.entry(buffer).or_default();
            image.resize(image.len().max(end(binding)), 0);
            for operand in binding["operands"].as_array().unwrap() {
                let slot: Slot = operand.as_str().unwrap().parse().unwrap();
                let Some(values) = data.get(slot) else {
                    outputs.push((slot, buffer));
                    continue;
                };
                let (start, stride, row) = lies(slot);
                for (index, bytes) in values.as_slice().bytes().chunks(row).enumerate() {
                    image[start + index * stride..][..row].copy_from_slice(bytes);
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
        let mut written = Outputs::new(Values::round_from(spec.output_dtype(), &[]));
        for (slot, buffer) in outputs {
            let bytes = self.gpu.read_blocking(&buffers[&buffer], 0..buffers[&buffer].size()).unwrap();
            let (start, stride, row) = lies(slot);
            let of_row = |index: usize| bytes[start + index * stride..][..row].to_vec();
            let values: Vec<u8> = (0..rows as usize).flat_map(of_row).collect();
            written = written.with(slot, Some(Values::from_bytes(spec.dtype_of(slot).unwrap(), &values)));
        }
        let outcome = verify::check_all(spec, &data.inputs(), &written).unwrap();
        assert!(outcome.passed() && outcome.elements as u64 >= rows * spec.hidden, "{spec:?}: {outcome:?}");
    }
}
