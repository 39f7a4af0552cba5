//! How an engine uses the library: its own device, its own arena buffer, its own encoder. Two norms and a kernel of the engine's
//! own go into one submit; the library allocates nothing while they are recorded.
//!
//! ```sh
//! cargo run --release --example own_encoder
//! ```

use std::error::Error;

use wgpu_rmsnorm::wgpu;
use wgpu_rmsnorm::{DType, Gpu, Inputs, Norm, NormSpec, Operand, Operands, Values, verify};

const HIDDEN: u64 = 256;
const ROWS: u64 = 12;

/// The engine's own kernel: it doubles what lies between the two norms. Half-precision values double by their exponent.
const DOUBLE: &str = "
@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let word = 128u * 12u + id.x; // the second tensor of the arena
    arena[word] = pack2x16float(2.0 * unpack2x16float(arena[word]));
}";

fn main() -> Result<(), Box<dyn Error>> {
    // The engine has a device already, with the limits that it wants.
    let (device, queue) = pollster::block_on(open_device())?;

    // One arena holds the token rows, the intermediate and the result; one buffer holds all weights.
    let bytes = ROWS * HIDDEN * 2;
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let buffer = |label, size| {
        device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
    };
    let arena = buffer("arena", 3 * bytes);
    let weights = buffer("weights", 2 * HIDDEN * 2);
    let x = values(ROWS * HIDDEN, 0.7);
    let w = values(2 * HIDDEN, 0.2);
    queue.write_buffer(&arena, 0, x.as_slice().bytes());
    queue.write_buffer(&weights, 0, w.as_slice().bytes());

    // The library wraps the device as it is: no callback, no polling, no submit of its own.
    let gpu = Gpu::from_wgpu_blocking(device.clone(), queue.clone())?;
    let spec = NormSpec::llama(HIDDEN, 1e-5).dtype(DType::F16);
    let norm = gpu.norm(spec)?;

    // Operands are ranges of the engine's buffers. Everything is checked here, once.
    let at = |offset| Operand::new(&arena).offset(offset);
    let weight = |index| Operand::new(&weights).offset(index * HIDDEN * 2);
    let first = norm.prepare_blocking(&Operands::new(at(0), at(bytes)).weight(weight(0)), ROWS)?;
    let second = norm.prepare_blocking(&Operands::new(at(bytes), at(2 * bytes)).weight(weight(1)), ROWS)?;
    let double = own_kernel(&device, &arena);

    // Every step from now on: record, and submit when the engine wants to.
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        first.record(&mut pass, ROWS)?;
        pass.set_pipeline(&double.0);
        pass.set_bind_group(0, &double.1, &[]);
        pass.dispatch_workgroups((ROWS * HIDDEN / 2 / 64) as u32, 1, 1);
        second.record(&mut pass, ROWS)?;
    }
    let result = read(&device, &queue, encoder, &arena, 2 * bytes, bytes)?;

    compare(&norm, &x, &w, &result)?;
    println!("{}: two norms and a kernel of our own in one submit, {} rows of {HIDDEN}, as on the CPU", gpu.info().name, ROWS);
    println!("{}", first.plan());
    Ok(())
}

async fn open_device() -> Result<(wgpu::Device, wgpu::Queue), Box<dyn Error>> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::PRIMARY,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await?;
    Ok(adapter.request_device(&wgpu::DeviceDescriptor::default()).await?)
}

fn values(count: u64, scale: f64) -> Values {
    let wave = |i: u64| 1.0 + scale * ((i * 7919 % 2003) as f64 / 1001.0 - 1.0);
    Values::round_from(DType::F16, &(0..count).map(wave).collect::<Vec<_>>())
}

fn own_kernel(device: &wgpu::Device, arena: &wgpu::Buffer) -> (wgpu::ComputePipeline, wgpu::BindGroup) {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("double"),
        source: wgpu::ShaderSource::Wgsl(DOUBLE.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("double"),
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("double"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: arena.as_entire_binding() }],
    });
    (pipeline, bind_group)
}

/// Copies a range out, submits, waits.
fn read(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    mut encoder: wgpu::CommandEncoder,
    source: &wgpu::Buffer,
    offset: u64,
    size: u64,
) -> Result<Values, Box<dyn Error>> {
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("staging"),
        size,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    encoder.copy_buffer_to_buffer(source, offset, &staging, 0, size);
    queue.submit([encoder.finish()]);
    staging.slice(..).map_async(wgpu::MapMode::Read, |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let view = staging.slice(..).get_mapped_range()?;
    Ok(Values::from_bytes(DType::F16, &view))
}

/// The same on the CPU, step by step, each step from what the device must have had before it.
fn compare(norm: &Norm, x: &Values, w: &Values, result: &Values) -> Result<(), Box<dyn Error>> {
    let w = w.as_slice().widen();
    let weight = |index: usize| Values::round_from(DType::F16, &w[index * HIDDEN as usize..(index + 1) * HIDDEN as usize]);
    // The first norm, run alone, has the same bits as in the submit above.
    let first = pollster::block_on(norm.run_values(&Inputs::new(x).weight(&weight(0))))?;
    let doubled: Vec<f64> = first.as_slice().widen().iter().map(|v| 2.0 * v).collect();
    let doubled = Values::round_from(DType::F16, &doubled);
    let outcome = verify::check(norm.spec(), &Inputs::new(&doubled).weight(&weight(1)), result.as_slice())?;
    if outcome.passed() { Ok(()) } else { Err(format!("wrong: {outcome:?}").into()) }
}
