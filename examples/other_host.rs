//! A [`Plan`] run without this crate's host layer, as an engine on another wgpu version, on Dawn or in JavaScript would: the plan
//! gives the shader's text, what to bind, the uniform's words and the grid. Every call to the device is the host's own.
//!
//! ```sh
//! cargo run --release --example other_host
//! ```
//!
//! `wgpu-rmsnorm explain 300x768 --dtype f16 --json` prints the same for hosts in other languages.

use std::error::Error;

use wgpu_rmsnorm::plan::Params;
use wgpu_rmsnorm::shader::Bound;
use wgpu_rmsnorm::wgpu::{self, util::DeviceExt};
use wgpu_rmsnorm::{Caps, DType, Inputs, Layout, NormSpec, Plan, Shader, Slot, Values, verify};

const HIDDEN: u64 = 768;
const ROWS: u64 = 300;
const DTYPE: DType = DType::F16;

fn main() -> Result<(), Box<dyn Error>> {
    // The host's own device, with WebGPU's default limits, which Caps::webgpu_defaults() describes.
    let (device, queue) = pollster::block_on(open_device())?;

    // What, where, how: plain data, made without a device.
    let spec = NormSpec::llama(HIDDEN, 1e-5).dtype(DTYPE);
    let layout = Layout::contiguous(&spec, ROWS);
    let plan = Plan::new(&spec, &Caps::webgpu_defaults(), &layout, ROWS)?;
    let shader = plan.shader();
    println!("{plan}\n");

    // The buffers, by their numbers in the layout: input, weight and output, each padded as the layout says.
    let (x, w) = (wave(ROWS * HIDDEN, 3.0, 0.0), wave(HIDDEN, 0.2, 1.0));
    let (input_place, output_place) = (layout.get(Slot::Input).ok_or("no input")?, layout.get(Slot::Output).ok_or("no output")?);
    let mut padded = x.as_slice().bytes().to_vec();
    padded.resize(input_place.size as usize, 0);
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let filled =
        |contents: &[u8], usage| device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage });
    let input = filled(&padded, usage);
    let weight = filled(w.as_slice().bytes(), usage);
    let output = filled(&vec![0; output_place.size as usize], usage);
    let buffer = |number: u32| match number {
        n if n == input_place.buffer => &input,
        n if n == output_place.buffer => &output,
        _ => &weight,
    };

    // A table of the digits 0 to 255, once a device, each at the alignment of dynamic uniform offsets: it brings the number of
    // rows to the kernel without a uniform of its own for every recording.
    let step = device.limits().min_uniform_buffer_offset_alignment;
    let table: Vec<u8> = (0..256u32)
        .flat_map(|digit| {
            let mut entry = digit.to_le_bytes().to_vec();
            entry.resize(step as usize, 0);
            entry
        })
        .collect();
    let digits = filled(&table, wgpu::BufferUsages::UNIFORM);

    // The shader says of every binding, in the order of their numbers, what it is.
    let layout_entry = |(number, bound): (usize, &Bound)| {
        let (ty, has_dynamic_offset) = match *bound {
            Bound::Params => (wgpu::BufferBindingType::Uniform, false),
            Bound::RowDigit(_) => (wgpu::BufferBindingType::Uniform, true),
            Bound::Scratch => (wgpu::BufferBindingType::Storage { read_only: false }, false),
            Bound::Storage(index) => (wgpu::BufferBindingType::Storage { read_only: !plan.bindings[index].writable }, false),
        };
        wgpu::BindGroupLayoutEntry {
            binding: number as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
            count: None,
        }
    };
    let entries: Vec<_> = shader.bindings.iter().enumerate().map(layout_entry).collect();
    let group_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
    // Few long rows are split: a kernel that sums their pieces comes first, with the same bindings over the same grid.
    let shaders = plan.first_shader().into_iter().chain([shader.clone()]);
    let pipelines: Vec<_> = shaders.map(|shader| pipeline(&device, &shader, &group_layout)).collect();
    let scratch = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: plan.scratch_bytes().max(32),
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });

    // One dispatch a chunk of rows: there is one, unless a tensor is beyond the binding limit.
    let mut encoder = device.create_command_encoder(&Default::default());
    for chunk in &plan.chunks {
        let params = filled(bytemuck::bytes_of(&chunk.params), wgpu::BufferUsages::UNIFORM);
        let bind = |(number, bound): (usize, &Bound)| {
            let (buffer, offset, size) = match *bound {
                Bound::Params => (&params, 0, size_of::<Params>() as u64),
                Bound::RowDigit(_) => (&digits, 0, 16),
                Bound::Scratch => (&scratch, 0, scratch.size()),
                Bound::Storage(index) => {
                    let (offset, size) = chunk.ranges[index];
                    (buffer(plan.bindings[index].buffer), offset, size)
                }
            };
            let range = wgpu::BufferBinding { buffer, offset, size: wgpu::BufferSize::new(size) };
            wgpu::BindGroupEntry { binding: number as u32, resource: wgpu::BindingResource::Buffer(range) }
        };
        let entries: Vec<_> = shader.bindings.iter().enumerate().map(bind).collect();
        let group =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &group_layout, entries: &entries });

        // Any number of rows up to the chunk's: its digits are the dynamic offsets, and the grid follows.
        let offsets = Plan::digits_of(chunk.rows).map(|digit| digit * step);
        let [x, y] = plan.grid(chunk, chunk.rows);
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for pipeline in &pipelines {
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &offsets);
            pass.dispatch_workgroups(x, y, 1);
        }
    }
    let y = read(&device, &queue, encoder, &output, ROWS * HIDDEN * DTYPE.size())?;

    let outcome = verify::check(&spec, &Inputs::new(&x).weight(&w), y.as_slice())?;
    println!("{} elements within {:.3} ULP of the float64 reference", outcome.elements, outcome.worst_ulp);
    if outcome.passed() { Ok(()) } else { Err(format!("wrong: {outcome:?}").into()) }
}

async fn open_device() -> Result<(wgpu::Device, wgpu::Queue), Box<dyn Error>> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::PRIMARY,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await?;
    Ok(adapter.request_device(&wgpu::DeviceDescriptor::default()).await?)
}

fn wave(count: u64, scale: f64, middle: f64) -> Values {
    let value = |i: u64| middle + scale * ((i * 7919 % 2003) as f64 / 1001.0 - 1.0);
    Values::round_from(DTYPE, &(0..count).map(value).collect::<Vec<_>>())
}

fn pipeline(device: &wgpu::Device, shader: &Shader, group: &wgpu::BindGroupLayout) -> wgpu::ComputePipeline {
    let label = Some(shader.label.as_str());
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(group)],
        immediate_size: 0,
    });
    let source = wgpu::ShaderSource::Wgsl(shader.wgsl.as_str().into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&layout),
        module: &module,
        entry_point: Some(Shader::ENTRY),
        compilation_options: Default::default(),
        cache: None,
    })
}

/// Copies the result out, submits, waits.
fn read(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    mut encoder: wgpu::CommandEncoder,
    source: &wgpu::Buffer,
    size: u64,
) -> Result<Values, Box<dyn Error>> {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let staging = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    encoder.copy_buffer_to_buffer(source, 0, &staging, 0, size);
    queue.submit([encoder.finish()]);
    staging.slice(..).map_async(wgpu::MapMode::Read, |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let view = staging.slice(..).get_mapped_range()?;
    Ok(Values::from_bytes(DTYPE, &view))
}
