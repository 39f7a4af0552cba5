//! A stage of the block: a norm with whatever is fused into it, and where its operands lie.

use std::error::Error;

use wgpu_rmsnorm::wgpu;
use wgpu_rmsnorm::{AddOrder, BySlot, Gpu, Inputs, NormSpec, Operands, Outputs, Prepared, Slot, WeightOf, verify};

use super::arena::{Contents, View};

pub struct Stage {
    pub name: &'static str,
    pub spec: NormSpec,
    /// Operands in the arena. Where an output is an input's view, it replaces it.
    pub rows: BySlot<View>,
    /// In the buffer of weights.
    pub weight: View,
    /// Bytes that are written and read besides where the parts run on their own.
    pub between: u64,
}

/// What came of a stage.
pub struct Checked {
    pub worst_ulp: f64,
    pub dispatches: u64,
    pub bytes: u64,
}

impl Stage {
    /// Binds the stage to the arena. Everything is checked here.
    pub fn prepare(
        &self,
        gpu: &Gpu,
        arena: &wgpu::Buffer,
        weights: &wgpu::Buffer,
        rows: u64,
    ) -> Result<Prepared, Box<dyn Error>> {
        let at = |slot| self.rows.get(slot).map(|view: &View| view.operand(arena));
        let (input, output) = (at(Slot::Input).ok_or("no input")?, at(Slot::Output).ok_or("no output")?);
        let replaces = input.offset == output.offset;
        let mut operands = if replaces { Operands::in_place(input) } else { Operands::new(input, output) };
        if let Some(residual) = at(Slot::Residual) {
            operands = operands.residual_in_place(residual);
        }
        if let Some(gate) = at(Slot::Gate) {
            operands = operands.gate(gate);
        }
        Ok(gpu.norm(self.spec)?.prepare_blocking(&operands.weight(self.weight.operand(weights)), rows)?)
    }

    /// Holds what the stage wrote to the reference, on what it read: the arena's bytes before and after.
    pub fn check(
        &self,
        prepared: &Prepared,
        before: &[u8],
        after: &[u8],
        weights: &[u8],
        rows: u64,
    ) -> Result<Checked, Box<dyn Error>> {
        let read = self.rows.map(|slot, view| view.values(if slot.is_written() { after } else { before }, rows));
        let weight = self.weight.values(weights, 1);
        let (Some(input), Some(output)) = (read.get(Slot::Input), read.get(Slot::Output)) else { return Err("no rows".into()) };
        let (mut inputs, mut outputs) = (Inputs::new(input).weight(&weight), Outputs::new(output.clone()));
        for (slot, values) in read.iter() {
            if slot.is_written() {
                outputs = outputs.with(slot, Some(values.clone()));
            } else {
                inputs = inputs.with(slot, Some(values.into()));
            }
        }
        let outcome = verify::check_all(&self.spec, &inputs, &outputs)?;
        if !outcome.passed() {
            return Err(format!("{} is wrong: {outcome:?}", self.name).into());
        }
        let plan = prepared.plan();
        Ok(Checked { worst_ulp: outcome.worst_ulp, dispatches: plan.chunks.len() as u64, bytes: plan.bytes(rows) })
    }

    /// What is computed, as a formula.
    pub fn operation(&self) -> String {
        let spec = &self.spec;
        let norm = |of: &str| match spec.weight_of {
            WeightOf::Row if spec.groups == 1 => format!("norm({of})"),
            WeightOf::QueryAndKey(query) => format!("norm({of}) of {query} q, {} k heads", spec.groups - query),
            WeightOf::Group => format!("norm({of}) of {} heads", spec.groups),
            _ => format!("norm({of}) of {} groups", spec.groups),
        };
        match (spec.residual, spec.gate.map(|gate| gate.order)) {
            (Some(_), _) => format!("s += x, y = {}", norm("s")),
            (_, Some(AddOrder::Before)) => format!("x = {}", norm("x·silu(z)")),
            (_, Some(_)) => format!("x = {} · silu(z)", norm("x")),
            _ => format!("x = {}", norm("x")),
        }
    }

    /// The dtypes of its operands: the stream's, where it has one, and all others'.
    pub fn dtypes(&self) -> String {
        let input = self.spec.input;
        self.spec.residual_dtype().map_or(input.to_string(), |stream| format!("{stream}, {input}"))
    }
}

/// Records all of them for the first `rows` tokens, submits once, and waits.
pub fn submit(gpu: &Gpu, stages: &[Prepared], rows: u64) -> Result<(), Box<dyn Error>> {
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for stage in stages {
            stage.record(&mut pass, rows)?;
        }
    }
    let index = gpu.queue().submit([encoder.finish()]);
    Ok(gpu.wait(index)?)
}

/// Puts everything in the arena back to where it was at the start.
pub fn reset(gpu: &Gpu, arena: &wgpu::Buffer, contents: &Contents) {
    gpu.queue().write_buffer(arena, 0, &contents.bytes);
}
