//! How much the fused members of the family save: each against the same work apart, in one run on one adapter.
//!
//! ```sh
//! cargo bench --bench fused
//! cargo bench --bench fused -- --quick --adapter llvmpipe --json
//! ```
//!
//! Shapes are 2048 x 4096 and 4096 x 1024, on a software driver half as many rows. `--quick` takes small ones, `--adapter TEXT` one
//! adapter, and `--json` prints a line of JSON for every row in place of the table. Apart means the norm alone, and beside it a plain
//! kernel as an engine has one (the `.wgsl` files here): an addition, a product with a gate's SiLU, a quantisation, a row's scale; of
//! queries and keys, two norms. Before they are timed, the results of both ways are held against each other.
//!
//! A fused norm moves fewer bytes, but reads its row twice, forms the sum or the product with the gate each time, and opens the gate
//! for any number that it may hold. Where memory is what counts, time follows the bytes; where arithmetic is, as on software drivers,
//! apart may well be faster.

mod apart;
mod measure;
mod operation;
mod tensor;

use std::error::Error;
use std::time::Duration;

use measure::Measured;
use operation::{Case, Operation};
use wgpu_rmsnorm::wgpu::DeviceType;
use wgpu_rmsnorm::{Gpu, GpuOptions};

const SHAPES: [[u64; 2]; 2] = [[2048, 4096], [4096, 1024]];
/// Software drivers shall be done within two minutes.
const SOFTWARE_SHAPES: [[u64; 2]; 2] = [[1024, 4096], [2048, 1024]];
const QUICK_SHAPES: [[u64; 2]; 2] = [[128, 4096], [256, 1024]];
/// Time for each row of the table.
const BUDGET: Duration = Duration::from_millis(2500);
const QUICK_BUDGET: Duration = Duration::from_millis(250);

struct Arguments {
    /// Whether this is `cargo bench`: `cargo test` runs benches too, without this argument.
    bench: bool,
    quick: bool,
    json: bool,
    adapter: Option<String>,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut found = Arguments { bench: false, quick: false, json: false, adapter: None };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--bench" => found.bench = true,
            "--quick" => found.quick = true,
            "--json" => found.json = true,
            "--adapter" => found.adapter = Some(given.next().ok_or("--adapter needs a part of an adapter's name")?),
            // What cargo hands to test programs is not for this one.
            _ if std::env::args().all(|argument| argument != "--bench") => {}
            other => return Err(format!("{other:?} is none of --quick, --json and --adapter TEXT").into()),
        }
    }
    Ok(found)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    if !arguments.bench {
        println!("nothing is timed here: cargo bench --bench fused");
        return Ok(());
    }
    let options = arguments.adapter.iter().fold(GpuOptions::default(), |options, name| options.adapter(name));
    let gpu = pollster::block_on(Gpu::with(options))?;
    let (shapes, budget) = match gpu.info().device_type {
        _ if arguments.quick => (QUICK_SHAPES, QUICK_BUDGET),
        DeviceType::Cpu => (SOFTWARE_SHAPES, BUDGET),
        _ => (SHAPES, BUDGET),
    };
    if !arguments.json {
        println!("Fused and apart, on {} ({})\n", gpu.info().name, gpu.info().driver);
        println!(
            "{:10}  {:9}  {:>9}  {:>15}  {:>19}  {:>13}  {:>15}  {:>4}",
            "", "", "", "MiB moved", "microseconds", "GB/s", "apart / fused", ""
        );
        println!(
            "{:10}  {:9}  {:>9}  {:>7} {:>7}  {:>9} {:>9}  {:>6} {:>6}  {:>7} {:>7}  {:>4}",
            "operation", "dtypes", "shape", "fused", "apart", "fused", "apart", "fused", "apart", "bytes", "time", "ULP"
        );
    }
    for shape in shapes {
        for operation in Operation::CASES {
            let case = Case::new(&gpu, operation, shape)?;
            let measured = measure::measure(&gpu, &case, budget)?;
            println!("{}", if arguments.json { json(&gpu, &case, &measured) } else { line(&case, &measured) });
        }
    }
    if !arguments.json {
        print_legend();
    }
    Ok(())
}

fn line(case: &Case, measured: &Measured) -> String {
    let ([fused, apart], [fused_seconds, apart_seconds]) = (case.bytes().map(|bytes| bytes as f64), measured.seconds);
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    format!(
        "{:10}  {:9}  {:>9}  {:7.2} {:7.2}  {:9.1} {:9.1}  {:6.2} {:6.2}  {:7.2} {:7.2}  {:4.1}",
        case.operation.name(),
        case.dtypes,
        format!("{}x{}", case.shape[0], case.shape[1]),
        mib(fused),
        mib(apart),
        fused_seconds * 1e6,
        apart_seconds * 1e6,
        fused / fused_seconds / 1e9,
        apart / apart_seconds / 1e9,
        apart / fused,
        apart_seconds / fused_seconds,
        measured.ulp,
    )
}

fn json(gpu: &Gpu, case: &Case, measured: &Measured) -> String {
    let ([fused, apart], [fused_seconds, apart_seconds]) = (case.bytes(), measured.seconds);
    let [computed, rows_fused, rows_apart] = case.operation.formula();
    format!(
        "{{\"adapter\":{:?},\"operation\":{:?},\"computes\":{computed:?},\"dtypes\":{:?},\"rows\":{},\"hidden\":{},\
         \"moved_fused\":{rows_fused:?},\"moved_apart\":{rows_apart:?},\"bytes_fused\":{fused},\"bytes_apart\":{apart},\
         \"microseconds_fused\":{:.3},\"microseconds_apart\":{:.3},\"gb_per_second_fused\":{:.3},\"apart_over_fused\":{:.4},\
         \"ulp\":{:.3}}}",
        gpu.info().name,
        case.operation.name(),
        case.dtypes,
        case.shape[0],
        case.shape[1],
        fused_seconds * 1e6,
        apart_seconds * 1e6,
        fused as f64 / fused_seconds / 1e9,
        apart_seconds / fused_seconds,
        measured.ulp,
    )
}

fn print_legend() {
    println!(
        "\nMoved: each operand of a dispatch once, rows and weights. The rows, a letter each time they are read or written:"
    );
    let mut said = Vec::new();
    for (operation, ..) in Operation::CASES {
        if !said.contains(&operation) {
            let [computed, fused, apart] = operation.formula();
            println!("  {:10}  {computed:25}  {fused:8}  apart {apart}", operation.name());
            said.push(operation);
        }
    }
    println!("Time: the median of several submits, fused and apart in turn, each of as many repetitions in one pass.");
    println!("ULP: the largest distance of the two results, in units of the last place (of scales of codes: of f16).");
}
