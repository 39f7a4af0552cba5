//! Decoding: 65 norms a step, as a model of 32 layers has, prepared once and recorded with as many rows as there are sequences.
//!
//! ```sh
//! cargo run --release --example decode_loop
//! ```

use std::error::Error;
use std::time::Instant;

use wgpu_rmsnorm::wgpu::{self, util::DeviceExt};
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, Operand, Operands, Prepared, Values, verify};

const HIDDEN: u64 = 1024;
const NORMS: u64 = 65;
/// As many sequences as are ever decoded at a time.
const MOST_ROWS: u64 = 8;
/// Sequences come and go: how many there are in each step.
const STEPS: [u64; 9] = [1, 1, 4, 7, 8, 8, 3, 2, 1];
const DTYPE: DType = DType::F16;

fn main() -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::new_blocking()?;
    let (device, queue) = (gpu.device(), gpu.queue());

    // Two buffers take turns as input and output, so that every norm reads what the one before it wrote. (In a model, other
    // kernels stand between them.) The weights of all 65 lie in one buffer.
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let bytes = MOST_ROWS * HIDDEN * DTYPE.size();
    let [a, b] = [(); 2]
        .map(|()| device.create_buffer(&wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false }));
    let weights = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("weights"),
        contents: wave(NORMS * HIDDEN, 0.3, 1.0).as_slice().bytes(),
        usage,
    });

    // Preparing checks everything, builds the bind groups and compiles: here one pipeline for all 65, since they differ in
    // nothing but where their operands lie.
    let compiled = gpu.pipelines();
    let norm = gpu.norm(NormSpec::llama(HIDDEN, 1e-5).dtype(DTYPE))?;
    let prepare = |index: u64| -> wgpu_rmsnorm::Result<Prepared> {
        let (from, to) = if index.is_multiple_of(2) { (&a, &b) } else { (&b, &a) };
        let weight = Operand::new(&weights).offset(index * HIDDEN * DTYPE.size());
        norm.prepare_blocking(&Operands::new(from, to).weight(weight), MOST_ROWS)
    };
    let norms = (0..NORMS).map(prepare).collect::<Result<Vec<_>, _>>()?;
    println!("{NORMS} norms of {HIDDEN} {DTYPE} channels on {}", gpu.info().name);
    println!("Pipelines compiled for them: {}", gpu.pipelines() - compiled);

    // Every step records with its own number of rows. Nothing is allocated for that, no bind group, no uniform.
    let prompt = wave(MOST_ROWS * HIDDEN, 2.0, 0.0);
    let row = 0..HIDDEN * DTYPE.size();
    let mut first_row: Option<Vec<u8>> = None;
    for rows in STEPS {
        queue.write_buffer(&a, 0, prompt.as_slice().bytes());
        let start = Instant::now();
        let mut encoder = device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for norm in &norms {
                norm.record(&mut pass, rows)?;
            }
        }
        let recorded = start.elapsed();
        let index = queue.submit([encoder.finish()]);
        gpu.wait(index)?;
        println!("{rows} rows: recorded in {recorded:.0?}, done in {:.1?}", start.elapsed());

        // The first sequence has the same bits in every step, however many others are decoded beside it.
        let bytes = gpu.read_blocking(&b, row.clone())?;
        assert!(*first_row.get_or_insert_with(|| bytes.clone()) == bytes, "the batch changed the bits of a row");
    }
    println!("The first sequence had the same bits in all {} steps.", STEPS.len());

    // And they are right: the last norm read a, and wrote b.
    let [x, y] = [&a, &b].map(|buffer| gpu.read_blocking(buffer, row.clone()).map(|bytes| Values::from_bytes(DTYPE, &bytes)));
    let weight = gpu.read_blocking(&weights, (NORMS - 1) * row.end..NORMS * row.end)?;
    let weight = Values::from_bytes(DTYPE, &weight);
    let outcome = verify::check(norm.spec(), &Inputs::new(&x?).weight(&weight), y?.as_slice())?;
    println!("The last norm is within {:.3} ULP of the float64 reference.", outcome.worst_ulp);
    if outcome.passed() { Ok(()) } else { Err(format!("wrong: {outcome:?}").into()) }
}

fn wave(count: u64, scale: f64, middle: f64) -> Values {
    let value = |i: u64| middle + scale * ((i * 7919 % 2003) as f64 / 1001.0 - 1.0);
    Values::round_from(DTYPE, &(0..count).map(value).collect::<Vec<_>>())
}
