//! Half-precision activations with f32 weights: who decides what the output is?
//!
//! ```sh
//! cargo run --release --example mixed_dtypes
//! ```

use half::f16;
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, verify};

const HIDDEN: u64 = 512;
const ROWS: u64 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gpu = Gpu::new_blocking()?;

    // Activations are f16, as most engines keep them; weights are f32, as many checkpoints store their norms. Neither is
    // converted: every operand has its own dtype, and the kernel reads each as it lies.
    let x: Vec<f16> = (0..ROWS * HIDDEN).map(|i| f16::from_f64((i * 7919 % 1013) as f64 / 300.0 - 1.7)).collect();
    let weight: Vec<f32> = (0..HIDDEN).map(|i| 1.0 + (i % 17) as f32 / 100.0).collect();
    let inputs = Inputs::new(&x).weight(&weight);

    // PyTorch's definition: one rounding at the end, and the output has the input's dtype.
    let torch = NormSpec::torch(HIDDEN, 1e-5).input(DType::F16);
    let y: Vec<f16> = gpu.norm(torch)?.run_blocking(&inputs)?;
    report("torch", &torch, verify::check(&torch, &inputs, (&y).into())?);

    // Transformers' Llama rounds before the weight and then multiplies with f32: the output is promoted to f32, and twice as
    // large. That is its definition, and a model that was trained with it may expect it ...
    let llama = NormSpec::llama(HIDDEN, 1e-5).input(DType::F16);
    let promoted: Vec<f32> = gpu.norm(llama)?.run_blocking(&inputs)?;
    report("llama", &llama, verify::check(&llama, &inputs, (&promoted).into())?);

    // ... but an engine that wants f16 back says so. The definition's own rounding, before the weight, stays.
    let narrow = llama.output(DType::F16);
    let y: Vec<f16> = gpu.norm(narrow)?.run_blocking(&inputs)?;
    report("llama, f16 out", &narrow, verify::check(&narrow, &inputs, (&y).into())?);

    // Asking for the wrong type is an error that names the rule, not a silent conversion.
    let error = gpu.norm(llama)?.run_blocking::<f16>(&inputs).expect_err("this norm writes f32");
    println!("\nAsked for f16 where the norm writes f32:\n{error}");
    Ok(())
}

fn report(name: &str, spec: &NormSpec, outcome: verify::Outcome) {
    assert!(outcome.passed(), "{name}: {outcome:?}");
    println!(
        "{name:15} f16 x f32 -> {:4}  {} elements, within {:.3} ULP",
        spec.output_dtype(),
        outcome.elements,
        outcome.worst_ulp
    );
}
