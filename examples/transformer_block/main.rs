//! The norms of a transformer block, and what goes with them, in one encoder and one submit: the residual stream is added to and
//! normalised, heads of a fused projection are normalised where they lie, and gates are applied in the same pass.
//!
//! ```sh
//! cargo run --release --example transformer_block
//! ```
//!
//! The block is a hybrid: an attention of the Qwen3-Next kind, and a Mamba 2 mixer. **There is no matrix product here.** What the
//! projections and the attention would have written before each stage is made-up data that lies there from the start; the output
//! projections are left out, so that the gated rows themselves are added to the stream. Everything else is as in a model: all
//! activations lie in one arena, stages read and write ranges and strided views of it, and nothing is copied in between.
//!
//! Afterwards the stages run one by one, and every result is held to the float64 reference *on what the GPU had before that
//! stage*.

mod arena;
mod stage;

use std::error::Error;

use arena::{Contents, View};
use stage::{Checked, Stage, reset, submit};
use wgpu_rmsnorm::{BySlot, DType, Gpu, NormSpec, Slot};

const TOKENS: u64 = 16;
/// As many as a later step has.
const FEWER: u64 = 5;
const HIDDEN: u64 = 1024;
const HEAD: u64 = 128;
const QUERY_HEADS: u64 = 8;
const KEY_HEADS: u64 = 2;
/// Channels of the fused projection: queries, keys and as many values.
const FUSED: u64 = (QUERY_HEADS + 2 * KEY_HEADS) * HEAD;
const GROUPS: u64 = 8;
const EPS: f32 = 1e-6;
/// Activations and weights. The stream itself is f32.
const HALF: DType = DType::BF16;

fn main() -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::new_blocking()?;
    let (mut rows, mut weights) = (Contents::default(), Contents::default());
    let fused = rows.rows(HALF, TOKENS, FUSED, 2.0);
    let stages = block(&mut rows, &mut weights, fused);
    let (arena, weights) = (rows.upload(&gpu, "arena"), weights.upload(&gpu, "weights"));
    let prepare = |stage: &Stage| stage.prepare(&gpu, &arena, &weights, TOKENS);
    let prepared = stages.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
    let read = || gpu.read_blocking(&arena, 0..arena.size());

    // The block, as a model runs it: one encoder, one pass, one submit.
    submit(&gpu, &prepared, TOKENS)?;
    let after = read()?;

    // Once more and one by one, to look at what lies between.
    reset(&gpu, &arena, &rows);
    let weight_bytes = gpu.read_blocking(&weights, 0..weights.size())?;
    let mut before = read()?;
    let mut results = Vec::new();
    for (stage, prepared) in stages.iter().zip(&prepared) {
        submit(&gpu, std::slice::from_ref(prepared), TOKENS)?;
        let now = read()?;
        results.push(stage.check(prepared, &before, &now, &weight_bytes, TOKENS)?);
        before = now;
    }
    println!(
        "{} stages, {TOKENS} tokens, {} KiB of activations in one buffer, on {}\n",
        stages.len(),
        arena.size() >> 10,
        gpu.info().name
    );
    print_table(&stages, &results);
    if before != after {
        return Err("one by one the stages leave other bits than in one submit".into());
    }
    println!("One submit leaves the same bits as the stages one by one.");

    let values = fused.columns((QUERY_HEADS + KEY_HEADS) * HEAD, KEY_HEADS * HEAD);
    if values.bytes(&after, 0..TOKENS) != values.bytes(&rows.bytes, 0..TOKENS) {
        return Err("the values beside queries and keys were written".into());
    }
    println!("The values that lie beside queries and keys kept their bits.");

    // What was prepared is recorded again, with fewer rows: the rows that are there get the bits they had, the others are left.
    reset(&gpu, &arena, &rows);
    submit(&gpu, &prepared, FEWER)?;
    let fewer = read()?;
    for view in rows.views() {
        let done = view.bytes(&fewer, 0..FEWER) == view.bytes(&after, 0..FEWER);
        let left = view.bytes(&fewer, FEWER..TOKENS) == view.bytes(&rows.bytes, FEWER..TOKENS);
        if !(done && left) {
            return Err(format!("{FEWER} rows alone are not as among {TOKENS}").into());
        }
    }
    println!("Recorded again with {FEWER} rows: the same bits in these, and the other {} untouched.", TOKENS - FEWER);
    Ok(())
}

/// The stages in order. Places of operands are the model's business: an operand of a stage is a result of an earlier one, or what
/// stands in for a projection.
fn block(rows: &mut Contents, weights: &mut Contents, fused: View) -> Vec<Stage> {
    let of = |places: &[(Slot, View)]| {
        let mut views = BySlot::default();
        places.iter().for_each(|&(slot, view)| views.set(slot, Some(view)));
        views
    };
    let mut stages = Vec::new();
    let mut stage = |name, spec: NormSpec, places: &[(Slot, View)], between| {
        let weight = weights.rows(HALF, 1, spec.weight_length(), 0.3);
        stages.push(Stage { name, spec, rows: of(places), weight, between });
    };
    let llama = |hidden| NormSpec::llama(hidden, EPS).dtype(HALF);
    let stream = rows.rows(DType::F32, TOKENS, HIDDEN, 5.0);
    let normed = rows.rows(HALF, TOKENS, HIDDEN, 0.0);
    let add_and_norm = llama(HIDDEN).add_residual(DType::F32);
    let add = |from: View| [(Slot::Input, from), (Slot::Residual, stream), (Slot::ResidualOut, stream), (Slot::Output, normed)];

    // What the block before wrote is added to the stream, in place; the norm of the sum goes to the projections. Apart, the norm
    // reads the sum again.
    let feed_forward = rows.rows(HALF, TOKENS, HIDDEN, 1.0);
    let sum = TOKENS * HIDDEN * DType::F32.size();
    stage("add, norm", add_and_norm, &add(feed_forward), sum);

    // Queries and keys of the fused projection are one view of it, whose rows begin as far apart as the projection's. Apart they
    // are two norms, which move as many bytes.
    let heads = fused.columns(0, (QUERY_HEADS + KEY_HEADS) * HEAD);
    let spec = llama(heads.length).query_and_key_heads(QUERY_HEADS, KEY_HEADS);
    stage("QK-norm", spec, &[(Slot::Input, heads), (Slot::Output, heads)], 0);

    // The attention's heads, normalised with one weight and gated, replace themselves. Apart, the normalised rows are written and
    // read again.
    let (mixed, gate) = (rows.rows(HALF, TOKENS, HIDDEN, 0.5), rows.rows(HALF, TOKENS, HIDDEN, 4.0));
    let half_rows = 2 * TOKENS * HIDDEN * HALF.size();
    let spec = llama(HIDDEN).heads(HIDDEN / HEAD).gate_output(HALF);
    stage("norm, gate", spec, &[(Slot::Input, mixed), (Slot::Gate, gate), (Slot::Output, mixed)], half_rows);
    stage("add, norm", add_and_norm, &add(mixed), sum);

    // Mamba's rows and their gates come from one projection, side by side: two views of it, one of which is replaced.
    let projected = rows.rows(HALF, TOKENS, 2 * HIDDEN, 3.0);
    let (x, z) = (projected.columns(0, HIDDEN), projected.columns(HIDDEN, HIDDEN));
    let spec = llama(HIDDEN).groups(GROUPS).gate_input(HALF);
    stage("gate, norm", spec, &[(Slot::Input, x), (Slot::Gate, z), (Slot::Output, x)], half_rows);
    // And the stream takes them from where they lie.
    stage("add, norm", add_and_norm, &add(x), sum);
    stages
}

fn print_table(stages: &[Stage], results: &[Checked]) {
    println!("stage       operation                           shape    dtypes       ULP  dispatches  bytes moved  bytes apart");
    for (stage, result) in stages.iter().zip(results) {
        println!(
            "{:10}  {:33} {:>7}    {:9}  {:5.3}  {:10}  {:11}  {:11}",
            stage.name,
            stage.operation(),
            format!("{TOKENS}x{}", stage.spec.hidden),
            stage.dtypes(),
            result.worst_ulp,
            result.dispatches,
            result.bytes,
            result.bytes + stage.between,
        );
    }
    let sum = |of: fn(&Checked) -> u64| results.iter().map(of).sum::<u64>();
    let (dispatches, bytes) = (sum(|result| result.dispatches), sum(|result| result.bytes));
    let apart = bytes + stages.iter().map(|stage| stage.between).sum::<u64>();
    println!("{:71}  {dispatches:10}  {bytes:11}  {apart:11}", "together");
    println!(
        "\nULP: of bf16, the largest distance from the reference. Apart: with addition, norm and gate in {} dispatches of their own",
        2 * stages.len()
    );
    println!("(QK-norm: a norm of queries and one of keys), {:.0} % more bytes.", 100.0 * (apart as f64 / bytes as f64 - 1.0));
}
