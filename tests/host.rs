//! The host layer, on every adapter: recording, limits, wrong arguments, and that the next good call works after a bad one.

use std::sync::OnceLock;

use wgpu_rmsnorm::verify::check;
use wgpu_rmsnorm::{
    Caps, DType, Error, Force, Gpu, GpuOptions, Inputs, NormSpec, Operand, Operands, Preset, Result, Rung, Rungs, Values,
    adapters, wgpu,
};

/// Case M5: drivers have crashed when every test opened a device of its own. They share one an adapter.
fn gpus() -> &'static [Gpu] {
    static GPUS: OnceLock<Vec<Gpu>> = OnceLock::new();
    GPUS.get_or_init(|| {
        let found = pollster::block_on(adapters(false));
        let open = |adapter| pollster::block_on(Gpu::open(adapter, &GpuOptions::default())).unwrap();
        let gpus: Vec<Gpu> = found.iter().map(open).collect();
        assert!(!gpus.is_empty(), "no adapter: ./scripts/test installs software ones");
        gpus
    })
}

fn wave(count: u64, dtype: DType) -> Values {
    Values::round_from(dtype, &(0..count).map(|i| ((i * 7919) % 1013) as f64 / 300.0 - 1.7).collect::<Vec<_>>())
}

const USAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST).union(wgpu::BufferUsages::COPY_SRC);

fn buffer(gpu: &Gpu, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

fn upload(gpu: &Gpu, values: &Values) -> wgpu::Buffer {
    let bytes = values.as_slice().bytes();
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(16).max(16), 0xff);
    let buffer = buffer(gpu, padded.len() as u64, USAGE);
    gpu.queue().write_buffer(&buffer, 0, &padded);
    buffer
}

fn download(gpu: &Gpu, buffer: &wgpu::Buffer, dtype: DType, count: u64) -> Values {
    let staging = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    let index = gpu.queue().submit([encoder.finish()]);
    staging.slice(..).map_async(wgpu::MapMode::Read, |result| result.unwrap());
    gpu.wait(index).unwrap();
    let view = staging.slice(..).get_mapped_range().unwrap();
    Values::from_bytes(dtype, &view[..(count * dtype.size()) as usize])
}

fn run(gpu: &Gpu, spec: NormSpec, inputs: &Inputs<'_>) -> Result<Values> {
    pollster::block_on(gpu.norm(spec)?.run_values(inputs))
}

/// A good call, to be made after every bad one.
fn still_works(gpu: &Gpu) {
    let spec = NormSpec::torch(33, 1e-6).dtype(DType::F16);
    let (x, w) = (wave(33 * 5, DType::F16), wave(33, DType::F16));
    let inputs = Inputs::new(&x).weight(&w);
    assert!(check(&spec, &inputs, run(gpu, spec, &inputs).unwrap().as_slice()).unwrap().passed());
}

/// L8: two norms recorded in one submit keep their own parameters, and so do two recordings of one norm with different rows.
#[test]
fn l8_recordings_of_one_submit_keep_their_parameters() {
    for gpu in gpus() {
        let (a, b) = (NormSpec::torch(8, 1e-6).without_weight(), NormSpec::torch(16, 0.1).without_weight());
        let (x, y) = (wave(8 * 3, DType::F32), wave(16 * 5, DType::F32));
        let (xb, yb) = (upload(gpu, &x), upload(gpu, &y));
        let outputs = [buffer(gpu, 96, USAGE), buffer(gpu, 320, USAGE), buffer(gpu, 320, USAGE)];
        let first = gpu.norm(a).unwrap().prepare_blocking(&Operands::new(&xb, &outputs[0]), 3).unwrap();
        let second = gpu.norm(b).unwrap().prepare_blocking(&Operands::new(&yb, &outputs[1]), 5).unwrap();
        let third = gpu.norm(b).unwrap().prepare_blocking(&Operands::new(&yb, &outputs[2]), 5).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            first.record(&mut pass, 3).unwrap();
            third.record(&mut pass, 2).unwrap();
            second.record(&mut pass, 5).unwrap();
            third.record(&mut pass, 1).unwrap();
        }
        gpu.queue().submit([encoder.finish()]);
        assert_eq!(download(gpu, &outputs[0], DType::F32, 24), run(gpu, a, &Inputs::new(&x)).unwrap());
        let whole = run(gpu, b, &Inputs::new(&y)).unwrap();
        assert_eq!(download(gpu, &outputs[1], DType::F32, 80), whole);
        // Two rows were recorded, and the other three were not touched.
        let partial = download(gpu, &outputs[2], DType::F32, 80).into_vec::<f32>().unwrap();
        assert_eq!(partial[..32], whole.into_vec::<f32>().unwrap()[..32]);
        assert_eq!(partial[32..], [0.0; 48]);
    }
}

/// Any number of rows up to the prepared one, without a new bind group.
#[test]
fn a_decode_loop_records_any_number_of_rows() {
    for gpu in gpus() {
        for dtype in [DType::F32, DType::BF16] {
            let spec = NormSpec::llama(65, 1e-5).dtype(dtype);
            let (x, w) = (wave(65 * 600, dtype), wave(65, dtype));
            let whole = run(gpu, spec, &Inputs::new(&x).weight(&w)).unwrap();
            let (xb, wb) = (upload(gpu, &x), upload(gpu, &w));
            let output = buffer(gpu, xb.size(), USAGE);
            let prepared = gpu.norm(spec).unwrap().prepare_blocking(&Operands::new(&xb, &output).weight(&wb), 600).unwrap();
            for rows in [1, 2, 3, 255, 256, 257, 511, 600] {
                let mut encoder = gpu.device().create_command_encoder(&Default::default());
                encoder.clear_buffer(&output, 0, None);
                prepared.record_in(&mut encoder, rows).unwrap();
                gpu.queue().submit([encoder.finish()]);
                let got = download(gpu, &output, dtype, 65 * 600);
                let size = (rows * 65 * dtype.size()) as usize;
                assert_eq!(got.as_slice().bytes()[..size], whole.as_slice().bytes()[..size], "{rows} rows");
                assert!(got.as_slice().bytes()[size..].iter().all(|&b| b == 0), "{rows} rows");
            }
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            assert!(matches!(prepared.record_in(&mut encoder, 601), Err(Error::Shape(_))));
            drop(encoder.finish());
        }
    }
}

/// G5: an absent operand has the bits of its neutral value: no weight those of ones, no bias those of zeros.
#[test]
fn g5_absent_operands_are_neutral() {
    for gpu in gpus() {
        for dtype in DType::ALL {
            for (hidden, preset) in [(72, Preset::Torch), (4096, Preset::Llama), (73, Preset::Gemma)] {
                let spec = preset.spec(hidden, 1e-6).dtype(dtype).without_weight();
                let (x, zeros) = (wave(hidden * 3, dtype), Values::round_from(dtype, &vec![0.0; hidden as usize]));
                let bare = run(gpu, spec, &Inputs::new(&x)).unwrap();
                let ones = spec.weight(dtype).initial_weight().unwrap();
                let weighted = run(gpu, spec.weight(dtype), &Inputs::new(&x).weight(&ones)).unwrap();
                assert_eq!(weighted.as_slice().bytes(), bare.as_slice().bytes(), "weight, {dtype} {hidden}");
                let biased = run(gpu, spec.bias(dtype), &Inputs::new(&x).bias(&zeros)).unwrap();
                assert_eq!(biased.as_slice().bytes(), bare.as_slice().bytes(), "bias, {dtype} {hidden}");
            }
        }
    }
}

/// K1: the library asks for the adapter's buffer limits, so that what the adapter allows can be had.
#[test]
fn k1_buffers_are_as_large_as_the_adapter_allows() {
    for gpu in gpus() {
        let limits = gpu.device().limits();
        let adapter = pollster::block_on(adapters(false)).into_iter().find(|a| a.info().name == gpu.info().name).unwrap();
        assert_eq!(limits.max_buffer_size, adapter.wgpu().limits().max_buffer_size);
        assert_eq!(gpu.caps().max_binding, adapter.wgpu().limits().max_storage_buffer_binding_size);
        let size = (300 << 20).min(limits.max_buffer_size);
        assert_eq!(buffer(gpu, size, USAGE).size(), size);
    }
}

/// F1, K8, K9: nothing in, nothing out, and no dispatch.
#[test]
fn f1_and_k9_zero_rows_give_an_empty_result() {
    for gpu in gpus() {
        let spec = NormSpec::torch(768, 1e-6).without_weight();
        let none: [f32; 0] = [];
        assert_eq!(run(gpu, spec, &Inputs::new(&none)).unwrap(), Values::F32(vec![]));
        let empty = buffer(gpu, 0, USAGE);
        let other = buffer(gpu, 0, USAGE);
        let prepared = gpu.norm(spec).unwrap().prepare_blocking(&Operands::new(&empty, &other), 0).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        prepared.record_in(&mut encoder, 0).unwrap();
        gpu.queue().submit([encoder.finish()]);
        still_works(gpu);
    }
}

/// Q4: one pipeline a kernel, however many calls.
#[test]
fn q4_a_thousand_calls_compile_one_kernel() {
    for gpu in gpus() {
        let device = pollster::block_on(open_default(gpu)).unwrap();
        let norm = device.norm(NormSpec::torch(48, 1e-6).without_weight()).unwrap();
        let x = wave(48, DType::F32);
        for _ in 0..1000 {
            norm.run_blocking::<f32>(&Inputs::new(&x)).unwrap();
        }
        assert_eq!(device.pipelines(), 1);
    }
}

/// A device of the caller's own, with WebGPU's default limits and no feature, on the same adapter.
async fn open_default(like: &Gpu) -> Result<Gpu> {
    let adapter = adapters(false).await.into_iter().find(|a| a.info().name == like.info().name).unwrap();
    let (device, queue) = adapter.wgpu().request_device(&wgpu::DeviceDescriptor::default()).await.unwrap();
    Gpu::from_wgpu(device, queue).await
}

/// K5: checks read device limits, never the adapter's. M3: f16 without any feature.
#[test]
fn k5_and_m3_a_default_device_takes_any_offset_and_any_dtype() {
    for like in gpus() {
        let gpu = &pollster::block_on(open_default(like)).unwrap();
        assert!(gpu.device().features().is_empty());
        assert_eq!(gpu.caps().storage_alignment, 256);
        for dtype in DType::ALL {
            let spec = NormSpec::torch(40, 1e-6).dtype(dtype).without_weight();
            let x = wave(40 * 3, dtype);
            let mut shifted = vec![0.0; 64 / dtype.size() as usize];
            shifted.extend(x.as_slice().widen());
            let arena = upload(gpu, &Values::round_from(dtype, &shifted));
            let output = buffer(gpu, 4096, USAGE);
            let at_64 = Operands::new(Operand::new(&arena).offset(64), Operand::new(&output).offset(64));
            let prepared = gpu.norm(spec).unwrap().prepare_blocking(&at_64, 3).unwrap();
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            prepared.record_in(&mut encoder, 3).unwrap();
            gpu.queue().submit([encoder.finish()]);
            let got = download(gpu, &output, dtype, 64 / dtype.size() + 120).as_slice().bytes()[64..].to_vec();
            assert_eq!(got, run(like, spec, &Inputs::new(&x)).unwrap().as_slice().bytes());
        }
    }
}

/// K2: a tensor beyond the binding limit of a default device, in chunks, has the bits of one in one piece.
#[test]
fn k2_chunks_have_the_bits_of_one_piece() {
    for gpu in gpus() {
        let spec = NormSpec::torch(257, 1e-6).dtype(DType::F16);
        let (x, w) = (wave(257 * 900, DType::F16), wave(257, DType::F16));
        let inputs = Inputs::new(&x).weight(&w);
        let whole = run(gpu, spec, &inputs).unwrap();
        let small_bindings = gpu.with_caps(Caps { max_binding: 65_536, ..*gpu.caps() });
        assert_eq!(run(&small_bindings, spec, &inputs).unwrap(), whole);
        // Below a buffer's limit, the host cuts the rows into batches.
        let small_buffers = gpu.with_caps(Caps { max_buffer: 100_000, ..*gpu.caps() });
        assert_eq!(run(&small_buffers, spec, &inputs).unwrap(), whole);
        let none = gpu.with_caps(Caps { max_buffer: 512, ..*gpu.caps() });
        assert!(matches!(run(&none, spec, &inputs), Err(Error::Limit(_))));
    }
}

/// H2, H4: overlap is refused before anything is recorded; only the in-place form replaces the input.
#[test]
fn h2_overlap_is_a_typed_error() {
    for gpu in gpus() {
        let norm = gpu.norm(NormSpec::torch(64, 1e-6).without_weight()).unwrap();
        let arena = buffer(gpu, 4096, USAGE);
        let at = |offset| Operand::new(&arena).offset(offset);
        for operands in [Operands::new(at(0), at(0)), Operands::new(at(0), at(128)), Operands::new(at(512), at(256))] {
            assert!(matches!(norm.prepare_blocking(&operands, 4), Err(Error::Aliasing(_))));
        }
        norm.prepare_blocking(&Operands::new(at(0), at(1024)), 4).unwrap();
        norm.prepare_blocking(&Operands::in_place(at(0)), 4).unwrap();
        let mixed = gpu.norm(NormSpec::torch(64, 1e-6).without_weight().output(DType::F16)).unwrap();
        assert!(matches!(mixed.prepare_blocking(&Operands::in_place(at(0)), 4), Err(Error::Aliasing(_))));
        let weighted = gpu.norm(NormSpec::torch(64, 1e-6)).unwrap();
        let over_weight = Operands::new(at(0), at(1024)).weight(at(1280));
        assert!(matches!(weighted.prepare_blocking(&over_weight, 4), Err(Error::Aliasing(_))));
        still_works(gpu);
    }
}

/// Wrong arguments are typed errors that name the argument, and lose nothing.
#[test]
fn wrong_arguments_are_typed_errors() {
    for gpu in gpus() {
        let spec = NormSpec::torch(8, 1e-6);
        let norm = gpu.norm(spec).unwrap();
        let (x, w) = (wave(24, DType::F32), wave(8, DType::F32));
        let message = |error: Error| error.to_string();

        let error = norm.run_blocking::<f32>(&Inputs::new(&x)).unwrap_err();
        assert!(message(error).contains("weight"));
        let error = norm.run_blocking::<half::f16>(&Inputs::new(&x).weight(&w)).unwrap_err();
        assert!(matches!(error, Error::DType(_)));
        let halves = wave(24, DType::F16);
        assert!(matches!(norm.run_blocking::<f32>(&Inputs::new(&halves).weight(&w)), Err(Error::DType(_))));
        let ragged = wave(23, DType::F32);
        assert!(matches!(norm.run_blocking::<f32>(&Inputs::new(&ragged).weight(&w)), Err(Error::Shape(_))));
        for length in [1, 7, 64] {
            let wrong = wave(length, DType::F32);
            let error = norm.run_blocking::<f32>(&Inputs::new(&x).weight(&wrong)).unwrap_err().to_string();
            assert!(error.contains("hidden = 8") && error.contains(&length.to_string()), "G9: {error}");
        }

        let (small, output, weight) = (buffer(gpu, 32, USAGE), buffer(gpu, 96, USAGE), buffer(gpu, 32, USAGE));
        let error = norm.prepare_blocking(&Operands::new(&small, &output).weight(&weight), 3).unwrap_err();
        assert!(message(error).contains("at least 96 bytes"));
        let no_usage = buffer(gpu, 96, wgpu::BufferUsages::COPY_DST);
        let error = norm.prepare_blocking(&Operands::new(&no_usage, &output).weight(&weight), 3).unwrap_err();
        assert!(message(error).contains("STORAGE"));
        let error = norm.prepare_blocking(&Operands::new(&output, &no_usage), 1).unwrap_err();
        assert!(matches!(error, Error::Buffer(_)));
        let misaligned = Operands::new(Operand::new(&output).offset(2), &small).weight(&weight);
        assert!(message(norm.prepare_blocking(&misaligned, 1).unwrap_err()).contains("multiple of 4"));
        let narrow = Operands::new(Operand::new(&output).row_stride(7), &small).weight(&weight);
        assert!(message(norm.prepare_blocking(&narrow, 1).unwrap_err()).contains("row stride"));
        assert!(matches!(gpu.norm(NormSpec::torch(0, 1e-6)), Err(Error::Spec(_))));
        assert!(matches!(gpu.norm(NormSpec::torch(8, -1.0)), Err(Error::Spec(_))));
        assert!(matches!("llama3".parse::<Preset>(), Err(Error::Spec(_))));
        still_works(gpu);
    }
}

/// L10: what only wgpu can see, such as a buffer of another device, comes back as an error and not as a panic or zeros.
#[test]
fn l10_a_buffer_of_another_device_is_an_error() {
    for gpu in gpus() {
        let other = pollster::block_on(open_default(gpu)).unwrap();
        let foreign = buffer(&other, 1024, USAGE);
        let output = buffer(gpu, 1024, USAGE);
        let norm = gpu.norm(NormSpec::torch(8, 1e-6).without_weight()).unwrap();
        let error = norm.prepare_blocking(&Operands::new(&foreign, &output), 3).unwrap_err();
        assert!(matches!(error, Error::Buffer(_)), "{error}");
        still_works(gpu);
    }
}

/// L10: a kernel that does not compile is an error that names it.
#[test]
fn l10_a_broken_kernel_is_an_error() {
    for gpu in gpus() {
        let broken = gpu.with_fault("fn row_at(", "fn row_at(,");
        let x = wave(8, DType::F32);
        let error = run(&broken, NormSpec::torch(8, 1e-6).without_weight(), &Inputs::new(&x)).unwrap_err();
        assert!(matches!(error, Error::Shader { .. }), "{error}");
        still_works(gpu);
    }
}

/// The self-test passes on a sound device, and a rung that fails it is not planned any more.
#[test]
fn the_self_test_restricts_the_plan() {
    for gpu in gpus() {
        let found = pollster::block_on(gpu.self_test()).unwrap();
        assert!(Rung::ALL.into_iter().all(|rung| found.passed(rung)), "{found:?}");
        assert_eq!(found.rungs().unwrap(), gpu.caps().rungs);

        // A device whose arithmetic is off fails it.
        let broken = gpu.with_fault("mean_of(squares, params.eps)", "mean_of(squares * 1.001, params.eps)");
        assert!(matches!(pollster::block_on(broken.self_test()).unwrap().rungs(), Err(Error::SelfTest { .. })));

        // A rung that did not pass is not planned, and not to be forced.
        let restricted = gpu.with_caps(Caps { rungs: Rungs { multi: false, ..Rungs::ALL }, ..*gpu.caps() });
        let norm = restricted.norm(NormSpec::torch(64, 1e-6).without_weight()).unwrap();
        let (a, b) = (buffer(gpu, 1 << 18, USAGE), buffer(gpu, 1 << 18, USAGE));
        let operands = Operands::new(&a, &b);
        assert_eq!(norm.prepare_blocking(&operands, 1000).unwrap().plan().rung, Rung::Looped);
        let forced = pollster::block_on(norm.prepare_with(&operands, 1000, Force::default().rung(Rung::Multi)));
        assert!(matches!(forced, Err(Error::Plan(_))));
    }
}

/// A rung with other bits than the plainest one is found, and only it is taken out.
#[test]
fn the_self_test_finds_a_rung_that_differs() {
    for gpu in gpus() {
        // Later turns of a workgroup scale by a hair more: within the error model, but with other bits. `looped` takes them
        // for rows that share words alone.
        let partly = gpu.with_fault(
            "mean_of(squares, params.eps)",
            "mean_of(squares * select(1.0, 1.0000003, turn + slot > 0u), params.eps)",
        );
        let found = pollster::block_on(partly.self_test()).unwrap();
        assert_eq!(found.differing, [Rung::Multi], "{found:?}");
        assert_eq!(found.rungs().unwrap(), Rungs { multi: false, ..Rungs::ALL });
        let tested = pollster::block_on(partly.tested()).unwrap();
        assert!(!tested.caps().rungs.multi && tested.caps().rungs.looped);
    }
}

/// Caps that promise more than the device has are brought down to it.
#[test]
fn caps_beyond_the_device_are_brought_down() {
    for gpu in gpus() {
        let boundless = Caps {
            max_binding: u64::MAX,
            max_buffer: u64::MAX,
            max_workgroups: u32::MAX,
            max_invocations: u32::MAX,
            workgroup_memory: u32::MAX,
            max_storage_buffers: u32::MAX,
            storage_alignment: 0,
            uniform_alignment: 0,
            ..*gpu.caps()
        };
        assert_eq!(gpu.with_caps(boundless).caps(), gpu.caps());
    }
}

/// K5: a device with less than the library needs is refused with the limit's name, before anything is made on it.
#[test]
fn a_device_below_the_needed_limits_is_refused() {
    let adapter = pollster::block_on(adapters(false)).into_iter().next().unwrap();
    let few = wgpu::Limits { max_dynamic_uniform_buffers_per_pipeline_layout: 2, ..wgpu::Limits::default() };
    let small = wgpu::Limits { max_buffer_size: 4096, ..wgpu::Limits::default() };
    for (required_limits, name) in [(few, "max_dynamic_uniform_buffers_per_pipeline_layout"), (small, "max_buffer_size")] {
        let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.wgpu().request_device(&descriptor)).unwrap();
        let error = Gpu::from_wgpu_blocking(device, queue).unwrap_err();
        assert!(matches!(&error, Error::Limit(detail) if detail.argument == name), "{error}");
    }
}

/// L10: a device that is gone is an error in every call, and not a panic.
#[test]
fn l10_a_destroyed_device_is_an_error() {
    for like in gpus() {
        let gpu = pollster::block_on(open_default(like)).unwrap();
        let spec = NormSpec::torch(8, 1e-6).without_weight();
        let x = wave(24, DType::F32);
        run(&gpu, spec, &Inputs::new(&x)).unwrap();
        gpu.device().destroy();
        for _ in 0..2 {
            let error = run(&gpu, spec, &Inputs::new(&x)).unwrap_err();
            assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
        }
        still_works(like);
    }
}

/// M1, M2: the choice of an adapter, and what is said where there is none.
#[test]
fn m1_an_unknown_adapter_is_an_error_that_lists_what_was_found() {
    let options = GpuOptions::default().adapter("no such adapter");
    let error = pollster::block_on(Gpu::with(options)).unwrap_err().to_string();
    assert!(error.contains("no such adapter") && error.contains(&gpus()[0].info().name), "{error}");
    let named = GpuOptions::default().adapter(gpus()[0].info().name.to_uppercase()).without_self_test();
    assert_eq!(pollster::block_on(Gpu::with(named)).unwrap().info().name, gpus()[0].info().name);
}

/// L4: a wait has an end.
#[test]
fn l4_a_wait_ends_at_its_limit() {
    let adapter = pollster::block_on(adapters(false)).into_iter().next().unwrap();
    let options = GpuOptions::default().without_self_test().wait_limit(std::time::Duration::ZERO);
    let gpu = pollster::block_on(Gpu::open(&adapter, &options)).unwrap();
    let x = wave(4096 * 512, DType::F32);
    let result = run(&gpu, NormSpec::torch(4096, 1e-6).without_weight(), &Inputs::new(&x));
    assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
}

/// Threads share a device.
#[test]
fn four_threads_share_a_device() {
    for gpu in gpus() {
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || {
                    let spec = NormSpec::torch(50 + thread, 1e-6).without_weight();
                    let x = wave(spec.hidden * 6, DType::F32);
                    let first = run(gpu, spec, &Inputs::new(&x)).unwrap();
                    for _ in 0..50 {
                        assert_eq!(run(gpu, spec, &Inputs::new(&x)).unwrap(), first);
                    }
                });
            }
        });
    }
}
