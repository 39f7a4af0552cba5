//! Ten thousand norms in the memory of the first thousand. The process's memory is what is measured, so that this test has the
//! process for itself.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod common;

use common::*;
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, Operands, wgpu};

/// Bytes that the process has in memory.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Memory of the process may grow by this much in a thousand forwards: less than a hundred bytes each.
const LEEWAY: u64 = 96 << 10;

/// L7: ten thousand results read back, and ten thousand submissions of which nobody reads anything, in the memory of the first
/// thousand. The second is the caller's loop, and polls as callers do: without waiting.
#[test]
fn l7_ten_thousand_forwards_keep_their_memory() {
    for gpu in gpus() {
        let spec = NormSpec::torch(1024, 1e-6).without_weight();
        let norm = gpu.norm(spec).unwrap();
        let x = wave(1024, DType::F32);
        memory_stays("results", gpu, || drop(norm.run_blocking::<f32>(&Inputs::new(&x)).unwrap()));

        let (input, output) = (upload(gpu, &x), buffer(gpu, 4096, USAGE));
        let prepared = norm.prepare_blocking(&Operands::new(&input, &output), 1).unwrap();
        memory_stays("submissions", gpu, || {
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            prepared.record_in(&mut encoder, 1).unwrap();
            gpu.queue().submit([encoder.finish()]);
            gpu.device().poll(wgpu::PollType::Poll).unwrap();
        });
        still_works(gpu);
    }
}

/// What leaks grows every time. What a driver keeps for the most that was ever under way at once grows when the machine was busy
/// elsewhere, and stays: so the least growth of nine thousands is asked for.
fn memory_stays(what: &str, gpu: &Gpu, mut forward: impl FnMut()) {
    let after: Vec<u64> = (0..10)
        .map(|_| {
            (0..1000).for_each(|_| forward());
            gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
            resident()
        })
        .collect();
    let least = after.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min().unwrap();
    assert!(least < LEEWAY, "{what} on {gpu}: bytes after each thousand forwards: {after:?}");
}
