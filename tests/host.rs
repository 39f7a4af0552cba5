//! The host layer, on every adapter: recording, limits, layouts.

#[path = "common/host.rs"]
mod common;

use common::*;
use wgpu_rmsnorm::{Caps, DType, Error, Gpu, Inputs, NormSpec, Operand, Operands, Preset, Slot, Values, adapters, wgpu};

fn download(gpu: &Gpu, buffer: &wgpu::Buffer, dtype: DType, count: u64) -> Values {
    Values::from_bytes(dtype, &gpu.read_blocking(buffer, 0..count * dtype.size()).unwrap())
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
        device.trim_pipelines(1);
        assert_eq!(device.pipelines(), 1, "no more than are wanted");
        device.trim_pipelines(0);
        assert_eq!(device.pipelines(), 0);
    }
}

/// A device of the caller's own, with a pipeline cache where its backend has one.
fn with_pipeline_cache(like: &Gpu) -> Option<(Gpu, wgpu::PipelineCache)> {
    let adapter = pollster::block_on(adapters(false)).into_iter().find(|a| a.info().name == like.info().name).unwrap();
    let required_features = adapter.wgpu().features() & wgpu::Features::PIPELINE_CACHE;
    if required_features.is_empty() {
        assert_ne!(like.info().backend, wgpu::Backend::Vulkan, "every Vulkan driver has such caches");
        return None;
    }
    let descriptor = wgpu::DeviceDescriptor { required_features, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.wgpu().request_device(&descriptor)).unwrap();
    let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: None, fallback: true };
    // SAFETY: there are no data that could be wrong.
    #[allow(unsafe_code, reason = "wgpu has no other way to make a cache")]
    let cache = unsafe { device.create_pipeline_cache(&descriptor) };
    Some((Gpu::from_wgpu_blocking(device, queue).unwrap(), cache))
}

/// A pipeline cache of the caller's is given to the driver with every kernel, and changes no bit. One of another device is refused.
#[test]
fn a_pipeline_cache_of_the_callers_is_used() {
    for like in gpus() {
        let Some((gpu, cache)) = with_pipeline_cache(like) else { continue };
        let spec = NormSpec::torch(72, 1e-6).without_weight();
        let x = wave(72 * 5, DType::F32);
        let cached = gpu.with_pipeline_cache(cache.clone());
        assert_eq!(run(&cached, spec, &Inputs::new(&x)).unwrap(), run(like, spec, &Inputs::new(&x)).unwrap());
        assert_eq!((cached.pipelines(), gpu.pipelines()), (1, 1), "clones share what is compiled");
        assert!(cache.get_data().is_some_and(|data| !data.is_empty()));

        let (other, _) = with_pipeline_cache(like).unwrap();
        let error = run(&other.with_pipeline_cache(cache), spec, &Inputs::new(&x)).unwrap_err();
        assert!(matches!(error, Error::Shader { .. }), "{error}");
        still_works(&cached);
    }
}

/// What takes longest to compile is known by its label, and stays known when the kernel is dropped.
#[test]
fn the_slowest_kernel_to_compile_is_known() {
    for like in gpus() {
        let gpu = pollster::block_on(open_default(like)).unwrap();
        assert_eq!(gpu.slowest_compile(), None);
        let x = wave(96, DType::F32);
        let mut slowest = std::time::Duration::ZERO;
        for hidden in [24, 32, 48] {
            run(&gpu, NormSpec::torch(hidden, 1e-6).without_weight(), &Inputs::new(&x)).unwrap();
            let found = gpu.slowest_compile().unwrap();
            assert!(found.time >= slowest && found.kernel.starts_with("rms_norm "), "{found}");
            slowest = found.time;
        }
        gpu.trim_pipelines(0);
        assert_eq!(gpu.slowest_compile().unwrap().time, slowest);
    }
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

/// Sums with a residual are exact to the bit, whatever the driver does with subnormal numbers: both sides of every threshold of
/// the kernel, zeros of both signs, cancellation, infinities.
#[test]
fn sums_are_exact_on_both_sides_of_every_threshold() {
    let power = |n: i32| 2f64.powi(n) as f32;
    let mut values = vec![0.0, -0.0, 1.0, -1.0, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY];
    for n in [-149, -148, -127, -126, -125, -103, -102, -101, -100, -62, -61, -60, -59] {
        for value in [power(n), power(n) * 1.5, f32::from_bits(power(n).to_bits().wrapping_sub(1))] {
            values.extend([value, -value]);
        }
    }
    let (a, b): (Vec<f32>, Vec<f32>) = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip();
    let spec = NormSpec::torch(1, 1e-6).without_weight().add_residual(DType::F32);
    for gpu in gpus() {
        let inputs = Inputs::new(&a).residual(&b);
        let sums = gpu.norm(spec).unwrap().run_all_blocking(&inputs).unwrap();
        let sums = sums.get(Slot::ResidualOut).unwrap();
        for (index, (a, b)) in a.iter().zip(&b).enumerate() {
            let (got, right) = (sums.as_slice().get(index).unwrap() as f32, a + b);
            assert!(got.to_bits() == right.to_bits() || got.is_nan() && right.is_nan(), "{a:e} + {b:e} = {right:e}, not {got:e}");
        }
    }
}
