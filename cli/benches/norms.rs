//! Criterion over what `wgpu-rmsnorm bench` times: a group an operation, in bytes a second.
//!
//! ```sh
//! cargo bench --bench norms
//! WGPU_RMSNORM_ADAPTER=llvmpipe cargo bench --bench norms -- "^norm/f32" --save-baseline before
//! ```
//!
//! `WGPU_RMSNORM_ADAPTER` is a part of an adapter's name. A time is that of one norm of as many as Criterion asks for, from the first
//! command that is recorded until the device is done, at most 64 in a submit. Every result is checked before it is timed.

#[allow(dead_code, unused_imports, reason = "the program has more of it, and its tests")]
#[path = "../src/failure.rs"]
mod failure;
#[allow(dead_code, unused_imports, reason = "the program has more of it, and its tests")]
#[path = "../src/bench/operation.rs"]
mod operation;
#[allow(dead_code, unused_imports, reason = "the program has more of it, and its tests")]
#[path = "../src/bench/shape.rs"]
mod shape;
#[allow(dead_code, unused_imports, reason = "the program has more of it, and its tests")]
#[path = "../src/bench/work.rs"]
mod work;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use wgpu_rmsnorm::{Force, Gpu, GpuOptions, Layout, NormSpec};

use failure::Failure;
use operation::{Dtypes, Operation};
use shape::Shape;
use work::Work;

/// What RMSNorm is timed at, and what all others are.
const OF_NORM: [&str; 6] = ["prefill", "llama", "odd", "1x4096", "8x4096", "64x8192"];
const OF_OTHERS: [&str; 2] = ["1x4096", "512x4096"];
/// Where nothing is timed, as in `cargo test`, and every benchmark runs once.
const UNTIMED: [&str; 1] = ["3x65"];
/// Norms of a submit.
const MOST_REPETITIONS: u64 = 64;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.code()
        }
    }
}

fn run() -> Result<(), Failure> {
    let options = GpuOptions::default();
    let options = match std::env::var("WGPU_RMSNORM_ADAPTER") {
        Ok(name) if !name.is_empty() => options.adapter(name),
        _ => options,
    };
    let gpu = pollster::block_on(Gpu::with(options))?;
    let is_timed = std::env::args().any(|argument| argument == "--bench");
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for &operation in Operation::value_variants() {
        let words: &[&str] = match operation {
            _ if !is_timed => &UNTIMED,
            Operation::Norm => &OF_NORM,
            _ => &OF_OTHERS,
        };
        let members = words.iter().map(|word| shape::parse(word).map_err(|problem| Failure::new(problem, "report this")));
        let members = members.collect::<Result<Vec<_>, _>>()?.concat();
        let mut group = criterion.benchmark_group(operation.name());
        group.sampling_mode(SamplingMode::Flat);
        for &dtypes in Dtypes::value_variants() {
            for shape in members.iter().map(|member| member.size.shape(dtypes.of_rows().size())) {
                let spec = operation.spec(shape[1], dtypes);
                let plan = gpu.norm(spec)?.plan(&Layout::contiguous(&spec, shape[0]), shape[0])?;
                group.throughput(Throughput::Bytes(plan.bytes(shape[0])));
                // Made once Criterion says that it is wanted.
                let mut work = None;
                group.bench_function(BenchmarkId::new(dtypes.name(), format!("{}x{}", shape[0], shape[1])), |bencher| {
                    let work = work.get_or_insert_with(|| or_exit(checked(&gpu, spec, shape)));
                    bencher.iter_custom(|iterations| or_exit(time(&gpu, work, iterations)));
                });
                gpu.trim_pipelines(wgpu_rmsnorm::verify::PIPELINES_TO_KEEP);
            }
        }
        group.finish();
    }
    criterion.final_summary();
    Ok(())
}

/// Criterion has no way to take an error.
fn or_exit<T>(result: Result<T, Failure>) -> T {
    result.unwrap_or_else(|failure| {
        eprintln!("error: {failure}");
        std::process::exit(1)
    })
}

fn checked(gpu: &Gpu, spec: NormSpec, shape: Shape) -> Result<Work, Failure> {
    let work = Work::new(gpu, spec, shape, Force::default())?;
    work.check(gpu)?;
    Ok(work)
}

fn time(gpu: &Gpu, work: &Work, iterations: u64) -> Result<Duration, Failure> {
    let start = Instant::now();
    let mut left = iterations;
    while left > 0 {
        let count = left.min(MOST_REPETITIONS);
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            (0..count).try_for_each(|_| work.prepared.record(&mut pass, work.rows()))?;
        }
        let index = gpu.queue().submit([encoder.finish()]);
        gpu.wait(index)?;
        left -= count;
    }
    Ok(start.elapsed())
}
