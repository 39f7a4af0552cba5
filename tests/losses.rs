//! Devices that are lost, do not answer, or have no room: a typed error in every call, and other devices go on.

#[path = "common/host.rs"]
mod common;

use std::time::Duration;

use common::*;
use wgpu_rmsnorm::{Adapter, DType, Error, Gpu, GpuOptions, Inputs, NormSpec, Operands, adapters, wgpu};

const SPEC: NormSpec = NormSpec::torch(8, 1e-6).without_weight();

/// L10, L11: a device that is gone is an error in every call, the first and the next, and not a panic or zeros.
#[test]
fn l10_a_destroyed_device_is_an_error_in_every_call() {
    for like in gpus() {
        let gpu = pollster::block_on(open_default(like)).unwrap();
        let x = wave(24, DType::F32);
        run(&gpu, SPEC, &Inputs::new(&x)).unwrap();
        let (input, output) = (upload(&gpu, &x), buffer(&gpu, 96, USAGE));
        gpu.device().destroy();
        for _ in 0..2 {
            let error = run(&gpu, SPEC, &Inputs::new(&x)).unwrap_err();
            assert!(matches!(error, Error::DeviceLost { .. }), "run: {error:?}");
            let error = gpu.read_blocking(&input, 0..96).unwrap_err();
            assert!(matches!(error, Error::DeviceLost { .. }), "read: {error:?}");
            let error = gpu.norm(SPEC).unwrap().prepare_blocking(&Operands::new(&input, &output), 3).unwrap_err();
            assert!(matches!(error, Error::DeviceLost { .. }), "prepare: {error:?}");
            let error = pollster::block_on(gpu.self_test()).unwrap_err();
            assert!(matches!(error, Error::DeviceLost { .. }), "self-test: {error:?}");
        }
        still_works(like);
    }
}

/// Lost between what was prepared and the submit: recording does not panic, wgpu drops the submit, and reading the result says so.
#[test]
fn a_device_lost_while_recording_is_no_panic() {
    for like in gpus() {
        let gpu = pollster::block_on(open_default(like)).unwrap();
        let x = wave(24, DType::F32);
        let (input, output) = (upload(&gpu, &x), buffer(&gpu, 96, USAGE));
        let prepared = gpu.norm(SPEC).unwrap().prepare_blocking(&Operands::new(&input, &output), 3).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        gpu.device().destroy();
        prepared.record_in(&mut encoder, 3).unwrap();
        gpu.queue().submit([encoder.finish()]);
        let error = gpu.read_blocking(&output, 0..96).unwrap_err();
        assert!(matches!(error, Error::DeviceLost { .. }), "{error:?}");
        still_works(like);
    }
}

/// Lost in the middle of work: another thread destroys the device while results are waited for. Every call ends, the first ones in
/// results, the others in a typed error.
#[test]
fn a_device_lost_in_the_middle_ends_what_runs() {
    for like in gpus() {
        let gpu = pollster::block_on(open_default(like)).unwrap();
        let x = wave(4096 * 256, DType::F32);
        let spec = NormSpec::torch(4096, 1e-6).without_weight();
        let right = run(&gpu, spec, &Inputs::new(&x)).unwrap();
        let error = std::thread::scope(|scope| {
            let device = gpu.device().clone();
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                device.destroy();
            });
            // Far more than 30 ms of work.
            (0..100_000).find_map(|_| match run(&gpu, spec, &Inputs::new(&x)) {
                Ok(values) => {
                    assert_eq!(values, right, "a result of a device that is being lost");
                    None
                }
                Err(error) => Some(error),
            })
        });
        assert!(matches!(error, Some(Error::DeviceLost { .. })), "{error:?}");
        still_works(like);
    }
}

/// L4: a wait has an end, and the device works on.
#[test]
fn l4_a_wait_ends_at_its_limit() {
    for like in gpus() {
        let adapter = adapter_of(like);
        let options = GpuOptions::default().without_self_test().wait_limit(Duration::ZERO);
        let hasty = pollster::block_on(Gpu::open(&adapter, &options)).unwrap();
        let x = wave(4096 * 512, DType::F32);
        let spec = NormSpec::torch(4096, 1e-6).without_weight();
        let result = run(&hasty, spec, &Inputs::new(&x));
        assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
        // The same device, by one who waits longer.
        let patient = Gpu::from_wgpu_blocking(hasty.device().clone(), hasty.queue().clone()).unwrap();
        still_works(&patient);
    }
}

fn adapter_of(gpu: &Gpu) -> Adapter {
    pollster::block_on(adapters(false)).into_iter().find(|adapter| adapter.info().name == gpu.info().name).unwrap()
}

/// A buffer that nobody can create is an error of the call that needed it.
#[test]
fn a_tensor_beyond_every_limit_is_a_typed_error() {
    for gpu in gpus() {
        let spec = NormSpec::torch(1 << 40, 1e-6).without_weight();
        assert!(matches!(gpu.norm(spec), Err(Error::Spec(_))));
        // The plan alone: nobody has these bytes.
        let spec = NormSpec::torch(1 << 31, 1e-6).without_weight();
        let norm = gpu.norm(spec).unwrap();
        let (a, b) = (buffer(gpu, 4096, USAGE), buffer(gpu, 4096, USAGE));
        let error = norm.prepare_blocking(&Operands::new(&a, &b), 1).unwrap_err();
        assert!(matches!(error, Error::Limit(_) | Error::Buffer(_)), "{error}");
        let error = norm.prepare_blocking(&Operands::new(&a, &b), u64::MAX).unwrap_err();
        assert!(matches!(error, Error::Shape(_) | Error::Limit(_) | Error::Buffer(_)), "{error}");
        still_works(gpu);
    }
}

/// Devices of an instance that refuses resources, or gives up the device, beyond a share of the memory. Drivers without
/// VK_EXT_memory_budget do not know how much is used: there is nothing to see there.
fn with_budget(like: &Gpu, thresholds: wgpu::MemoryBudgetThresholds) -> Option<wgpu::Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN,
        memory_budget_thresholds: thresholds,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    found.into_iter().find(|adapter| adapter.get_info().name == like.info().name)
}

/// Real out-of-memory: where no memory may be used, opening the device, creating a buffer or running a norm says so by its type.
#[test]
fn no_memory_is_a_typed_error() {
    for like in gpus() {
        let thresholds = wgpu::MemoryBudgetThresholds { for_resource_creation: Some(0), for_device_loss: None };
        let Some(adapter) = with_budget(like, thresholds) else { continue };
        let opened = pollster::block_on(adapter.request_device(&Default::default()));
        let result = match opened {
            Err(error) => Err(error.to_string()),
            Ok((device, queue)) => match Gpu::from_wgpu_blocking(device, queue) {
                Err(error @ (Error::OutOfMemory { .. } | Error::DeviceLost { .. })) => Err(error.to_string()),
                Err(other) => panic!("{like}: {other:?}"),
                Ok(gpu) => {
                    still_works(&gpu);
                    Ok(())
                }
            },
        };
        match result {
            Ok(()) => println!("{like}: does not count its memory"),
            Err(message) => println!("{like}: refused: {message}"),
        }
        still_works(like);
    }
}

/// Real device loss: wgpu gives up a device whose memory is short, at the next submit.
#[test]
fn a_device_given_up_for_memory_is_a_typed_error() {
    for like in gpus() {
        let thresholds = wgpu::MemoryBudgetThresholds { for_resource_creation: None, for_device_loss: Some(0) };
        let Some(adapter) = with_budget(like, thresholds) else { continue };
        let Ok((device, queue)) = pollster::block_on(adapter.request_device(&Default::default())) else {
            println!("{like}: refused at once");
            continue;
        };
        let x = wave(24, DType::F32);
        match Gpu::from_wgpu_blocking(device, queue)
            .and_then(|gpu| (0..3).try_for_each(|_| run(&gpu, SPEC, &Inputs::new(&x)).map(drop)))
        {
            Ok(()) => println!("{like}: does not count its memory"),
            Err(Error::DeviceLost { call, message }) => println!("{like}: lost in {call}: {message}"),
            Err(other) => panic!("{like}: {other:?}"),
        }
        still_works(like);
    }
}
