//! What a host does for long, from many threads, or in an order nobody planned: on every adapter, and the next good call works.

#[path = "common/host.rs"]
mod common;

use common::*;
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, Operands, Values};

/// Threads share a device: each gets the bits that it got alone, a thousand times.
#[test]
fn four_threads_share_a_device() {
    for gpu in gpus() {
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || {
                    let spec = NormSpec::torch(50 + thread, 1e-6).without_weight();
                    let x = wave(spec.hidden * 6, DType::F32);
                    let first = run(gpu, spec, &Inputs::new(&x)).unwrap();
                    for _ in 0..1000 {
                        assert_eq!(run(gpu, spec, &Inputs::new(&x)).unwrap(), first);
                    }
                });
            }
        });
    }
}

/// Something a host holds, of whatever kind: it is only ever dropped.
type Held = Option<Box<dyn std::any::Any>>;

/// Everything is dropped in each of the 120 orders, half of the times with the recorded norm submitted before.
#[test]
fn things_are_dropped_in_every_order() {
    for like in gpus() {
        let x = wave(24, DType::F32);
        for (number, order) in permutations(5).into_iter().enumerate() {
            let (device, queue) = (like.device().clone(), like.queue().clone());
            let gpu = Gpu::from_wgpu_blocking(device, queue).unwrap();
            let buffers = [upload(&gpu, &x), buffer(&gpu, 96, USAGE)];
            let norm = gpu.norm(NormSpec::torch(8, 1e-6).without_weight()).unwrap();
            let prepared = norm.prepare_blocking(&Operands::new(&buffers[0], &buffers[1]), 3).unwrap();
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            prepared.record_in(&mut encoder, 3).unwrap();
            if number % 2 == 0 {
                let recorded = std::mem::replace(&mut encoder, gpu.device().create_command_encoder(&Default::default()));
                gpu.queue().submit([recorded.finish()]);
                prepared.record_in(&mut encoder, 2).unwrap();
            }
            let mut held: [Held; 5] = [
                Some(Box::new(gpu)),
                Some(Box::new(norm)),
                Some(Box::new(prepared)),
                Some(Box::new(buffers)),
                Some(Box::new(encoder)),
            ];
            order.into_iter().for_each(|index| drop(held[index].take()));
        }
        still_works(like);
    }
}

/// A norm that outlives the handle it was made by, and the buffers' handles, still computes.
#[test]
fn what_is_prepared_holds_what_it_needs() {
    for like in gpus() {
        let x = wave(24, DType::F32);
        let spec = NormSpec::torch(8, 1e-6).without_weight();
        let output = buffer(like, 96, USAGE);
        let prepared = {
            let gpu = Gpu::from_wgpu_blocking(like.device().clone(), like.queue().clone()).unwrap();
            let input = upload(&gpu, &x);
            gpu.norm(spec).unwrap().prepare_blocking(&Operands::new(&input, &output), 3).unwrap()
        };
        let mut encoder = like.device().create_command_encoder(&Default::default());
        prepared.record_in(&mut encoder, 3).unwrap();
        like.queue().submit([encoder.finish()]);
        let got = Values::from_bytes(DType::F32, &like.read_blocking(&output, 0..96).unwrap());
        assert_eq!(got, run(like, spec, &Inputs::new(&x)).unwrap());
    }
}

/// All orders of the numbers below `count`.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let shorter = permutations(last);
    shorter
        .iter()
        .flat_map(|order| {
            (0..=last).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, last);
                longer
            })
        })
        .collect()
}
