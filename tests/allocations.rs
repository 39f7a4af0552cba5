//! What recording costs the host: no allocation beyond wgpu's own, no object of the device, one dispatch a chunk.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wgpu_rmsnorm::{Caps, Gpu, NormSpec, Operands, Prepared, wgpu};

/// The system's allocator, which counts what each thread asks of it. Drivers bring an allocator of their own.
struct Counting;

thread_local! {
    static ASKED: Cell<Asked> = const { Cell::new(Asked { times: 0, bytes: 0 }) };
}

/// Allocations, those that grow others included, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    times: usize,
    bytes: usize,
}

impl Counting {
    fn count(bytes: usize) {
        // A thread that ends may free and allocate after its counter is gone.
        let _ = ASKED.try_with(|asked| {
            let Asked { times, bytes: before } = asked.get();
            asked.set(Asked { times: times + 1, bytes: before + bytes });
        });
    }
}

// SAFETY: everything is the system allocator's; counting neither allocates nor unwinds.
#[allow(unsafe_code, reason = "an allocator is an unsafe trait")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What this thread allocates in `work`.
fn allocations(work: impl FnOnce()) -> Asked {
    let before = ASKED.get();
    work();
    let after = ASKED.get();
    Asked { times: after.times - before.times, bytes: after.bytes - before.bytes }
}

/// An instance of this test's own, whose reports count this test's objects alone, with a device on every adapter.
fn devices() -> (wgpu::Instance, Vec<Gpu>) {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::PRIMARY,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let open = |adapter: &wgpu::Adapter| {
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).unwrap();
        Gpu::from_wgpu_blocking(device, queue).unwrap()
    };
    let gpus: Vec<Gpu> = adapters.iter().map(open).collect();
    assert!(!gpus.is_empty(), "no adapter: ./scripts/test installs software ones");
    (instance, gpus)
}

fn buffer(gpu: &Gpu, size: u64) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE;
    gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

const HIDDEN: u64 = 96;
const ROWS: u64 = 2000;

/// Norms of one chunk and of several.
fn prepared(gpu: &Gpu) -> [Prepared; 2] {
    let spec = NormSpec::torch(HIDDEN, 1e-6).without_weight();
    [gpu.caps().max_binding, 64 << 10].map(|max_binding| {
        let gpu = gpu.with_caps(Caps { max_binding, ..*gpu.caps() });
        let (x, y) = (buffer(&gpu, ROWS * HIDDEN * 4), buffer(&gpu, ROWS * HIDDEN * 4));
        gpu.norm(spec).unwrap().prepare_blocking(&Operands::new(&x, &y), ROWS).unwrap()
    })
}

/// The calls that a recording is made of, with a pipeline and a bind group that have nothing to do with this library.
struct ByHand {
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
}

impl ByHand {
    fn new(gpu: &Gpu) -> Self {
        let device = gpu.device();
        let entry = |binding| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: true,
                min_binding_size: None,
            },
            count: None,
        };
        let entries = [0, 1, 2, 3].map(entry);
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let source = wgpu::ShaderSource::Wgsl("@compute @workgroup_size(1) fn main() {}".into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let uniform = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 64 << 10,
            usage: wgpu::BufferUsages::UNIFORM,
            mapped_at_creation: false,
        });
        let bound = |binding| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &uniform,
                offset: 0,
                size: wgpu::BufferSize::new(16),
            }),
        };
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &[0, 1, 2, 3].map(bound),
        });
        Self { pipeline, bind_group }
    }

    fn record(&self, pass: &mut wgpu::ComputePass<'_>, chunks: usize) {
        pass.set_pipeline(&self.pipeline);
        for _ in 0..chunks {
            pass.set_bind_group(0, &self.bind_group, &[0, 0, 0, 0]);
            pass.dispatch_workgroups(1, 1, 1);
        }
    }
}

/// What `record` allocates when it is called so many times in one pass.
fn allocations_of(gpu: &Gpu, times: usize, mut record: impl FnMut(&mut wgpu::ComputePass<'_>)) -> Asked {
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let asked = {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        allocations(|| (0..times).for_each(|_| record(&mut pass)))
    };
    // What was recorded is valid, or this panics; nobody has to compute it.
    drop(encoder.finish());
    asked
}

/// Number of chunks that the first `rows` rows lie in.
fn chunks_of(prepared: &Prepared, rows: u64) -> usize {
    prepared.plan().chunks.iter().filter(|chunk| chunk.first_row < rows).count()
}

/// wgpu keeps what is recorded in lists that grow. A recording makes them grow exactly as the same calls by hand do: one pipeline,
/// and a bind group and a dispatch a chunk. A call more, and the lists would grow earlier; an allocation of the library, and there
/// would be one more.
#[test]
fn recording_allocates_what_the_same_calls_by_hand_do() {
    let (_instance, gpus) = devices();
    for gpu in &gpus {
        let by_hand = ByHand::new(gpu);
        for prepared in prepared(gpu) {
            for rows in [0, 1, 2, 255, 256, 1000, ROWS] {
                let chunks = chunks_of(&prepared, rows);
                for times in 1..40 {
                    let library = allocations_of(gpu, times, |pass| prepared.record(pass, rows).unwrap());
                    let alone = allocations_of(gpu, times, |pass| {
                        if rows > 0 {
                            by_hand.record(pass, chunks)
                        }
                    });
                    assert_eq!(library, alone, "{times} x {rows} rows in {chunks} chunks");
                }
            }
        }
    }
}

/// The comparison above can fail: it sees one box, and one dispatch too many, among forty recordings.
#[test]
fn an_allocation_and_a_call_too_many_are_noticed() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(7u64)))), Asked { times: 1, bytes: 8 });
    let (_instance, gpus) = devices();
    for gpu in &gpus {
        let by_hand = ByHand::new(gpu);
        let [prepared, _] = prepared(gpu);
        let differs = |record: &dyn Fn(&mut wgpu::ComputePass<'_>)| {
            (1..40).any(|times| {
                allocations_of(gpu, times, |pass| record(pass)) != allocations_of(gpu, times, |pass| by_hand.record(pass, 1))
            })
        };
        assert!(!differs(&|pass| prepared.record(pass, 9).unwrap()));
        assert!(differs(&|pass| {
            prepared.record(pass, 9).unwrap();
            drop(std::hint::black_box(Box::new(7u64)));
        }));
        assert!(differs(&|pass| {
            prepared.record(pass, 9).unwrap();
            pass.dispatch_workgroups(1, 1, 1);
        }));
    }
}

/// Handles of buffers, bind groups, shader modules and pipelines on all devices of an instance.
fn objects(instance: &wgpu::Instance) -> [usize; 4] {
    let report = instance.generate_report().expect("native backends report");
    let hub = report.hub_report();
    [&hub.buffers, &hub.bind_groups, &hub.shader_modules, &hub.compute_pipelines].map(|registry| registry.num_allocated)
}

/// A recording makes nothing on the device, and a norm that is prepared again, for other rows and other buffers, neither a module
/// nor a pipeline: a uniform and a bind group, which keeps it.
#[test]
fn recording_makes_no_object_of_the_device() {
    let (instance, gpus) = devices();
    for gpu in &gpus {
        let [one, several] = prepared(gpu);
        assert!(several.plan().chunks.len() > 10 && one.plan().chunks.len() == 1);
        let before = objects(&instance);
        for prepared in [&one, &several] {
            for rows in 0..200 {
                allocations_of(gpu, 3, |pass| prepared.record(pass, rows).unwrap());
                assert_eq!(objects(&instance), before, "{rows} rows");
            }
        }
        let pipelines = gpu.pipelines();
        let norm = gpu.norm(one.plan().spec).unwrap();
        let buffers: Vec<_> = (0..8).map(|_| buffer(gpu, ROWS * HIDDEN * 4)).collect();
        let before = objects(&instance);
        let more: Vec<_> = buffers
            .windows(2)
            .zip(1990..)
            .map(|(pair, rows)| norm.prepare_blocking(&Operands::new(&pair[0], &pair[1]), rows).unwrap())
            .collect();
        let added = more.len();
        assert_eq!(gpu.pipelines(), pipelines, "a kernel is compiled once");
        // The handles of the uniforms are dropped: the bind groups keep what they are of.
        assert_eq!(objects(&instance), [before[0], before[1] + added, before[2], before[3]]);
    }
}
