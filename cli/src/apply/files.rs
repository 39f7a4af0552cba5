//! Which file is for which operand.

use std::path::Path;

use clap::Args;
use wgpu_rmsnorm::{BySlot, DType, NormSpec, Slot};

use crate::definition::Definition;
use crate::failure::Failure;
use crate::tensor::{Location, Sink};
use crate::whole_file::is_same;

/// A file for each operand.
#[derive(Debug, Args)]
pub struct Files {
    /// What is normalised: FILE.npy or FILE.safetensors:TENSOR
    input: Location,
    /// Where the result goes; the end of its name says in which format
    #[arg(short, long, value_name = "FILE")]
    output: Location,
    /// One factor a channel (with --heads: of a head; with --query-heads: of a query head, then of a key head)
    #[arg(long, value_name = "FILE")]
    weight: Option<Location>,
    /// One summand a channel, likewise
    #[arg(long, value_name = "FILE")]
    bias: Option<Location>,
    /// Rows that are added to the input (--add-after: to the result), from a file of either kind
    #[arg(long, value_name = "FILE")]
    residual: Option<Location>,
    /// Where the sum with the input goes, the new residual
    #[arg(long, value_name = "FILE", requires = "residual", conflicts_with = "add_after")]
    residual_out: Option<Location>,
    /// Rows that open to a factor of the result (--gate-output) or of the input (--gate-input)
    #[arg(long, value_name = "FILE")]
    gate: Option<Location>,
    /// Write the scale of each row (of each group), 1/sqrt(mean + eps), in f32
    #[arg(long, value_name = "FILE")]
    rstd: Option<Location>,
    /// Where the scales of --quantized rows (of each group) go, in f32
    #[arg(long, value_name = "FILE", requires = "quantized", conflicts_with = "scale")]
    scale_out: Option<Location>,
    /// The input is a part of each row: write its statistics, f32 of shape [rows..., 2], and no result
    #[arg(long, conflicts_with_all = ["statistics", "total"])]
    pub stats: bool,
    /// The input is a part of each row: apply the statistics of all parts, f32 of shape [rows..., parts, 2]
    #[arg(long, value_name = "FILE", requires = "total")]
    statistics: Option<Location>,
    /// Channels of all parts together
    #[arg(long, value_name = "CHANNELS", requires = "statistics")]
    pub total: Option<u64>,
}

impl Files {
    /// The file of an operand.
    pub fn get(&self, slot: Slot) -> Option<&Location> {
        match slot {
            Slot::Input => Some(&self.input),
            Slot::Weight => self.weight.as_ref(),
            Slot::Bias => self.bias.as_ref(),
            Slot::Residual => self.residual.as_ref(),
            Slot::Gate => self.gate.as_ref(),
            Slot::Statistics => self.statistics.as_ref(),
            Slot::ResidualOut => self.residual_out.as_ref(),
            Slot::Rstd => self.rstd.as_ref(),
            Slot::Scale => self.scale_out.as_ref(),
            Slot::Output => Some(&self.output),
            _ => None,
        }
    }

    /// Every operand that has a file.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Location)> {
        Slot::ALL.into_iter().filter_map(|slot| Some((slot, self.get(slot)?)))
    }

    /// Every file that is read or written, but for reports.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.iter().map(|(_, location)| location.file.as_path())
    }

    /// Refuses outputs of the norm that have nowhere to go, and two in one file.
    pub fn check(&self, spec: &NormSpec) -> Result<(), Failure> {
        for slot in Slot::ALL.into_iter().filter(|slot| slot.is_written()) {
            if spec.dtype_of(slot).is_some() && self.get(slot).is_none() {
                return Err(nowhere(slot));
            }
        }
        let written: Vec<_> = self.iter().filter(|(slot, _)| slot.is_written()).collect();
        for (index, (slot, location)) in written.iter().enumerate() {
            if let Some((other, _)) = written[index + 1..].iter().find(|(_, other)| is_same(&location.file, &other.file)) {
                return Err(Failure::new(format_args!("{}: this file is the {other}'s", flag(*slot)), "choose another file"));
            }
        }
        Ok(())
    }

    /// Begins a file for every output.
    pub fn sinks(&self, spec: &NormSpec, input: &[u64], name: &str, force: bool) -> Result<BySlot<Sink>, Failure> {
        let mut sinks = BySlot::default();
        for (slot, location) in self.iter().filter(|(slot, _)| slot.is_written()) {
            let Some(dtype) = spec.dtype_of(slot) else { continue };
            let name = if slot == Slot::Output { name } else { slot.name() };
            sinks.set(slot, Some(Sink::create(location, name, dtype, &shape(spec, slot, input), force)?));
        }
        Ok(sinks)
    }
}

/// The shape of an operand that has rows, by that of the input. One number a row has no dimension of its own.
pub fn shape(spec: &NormSpec, slot: Slot, input: &[u64]) -> Vec<u64> {
    let mut shape = input.split_last().map_or(Vec::new(), |(_, leading)| leading.to_vec());
    match slot {
        Slot::Rstd | Slot::Scale if spec.groups == 1 => {}
        // A sum and an exponent each.
        Slot::Statistics => shape.extend([spec.length_of(slot) / 2, 2]),
        _ => shape.push(spec.length_of(slot)),
    }
    shape
}

/// The flag that names an operand's file.
pub fn flag(slot: Slot) -> &'static str {
    match slot {
        Slot::Weight => "--weight",
        Slot::Bias => "--bias",
        Slot::Residual => "--residual",
        Slot::Gate => "--gate",
        Slot::Statistics => "--statistics",
        Slot::ResidualOut => "--residual-out",
        Slot::Rstd => "--rstd",
        Slot::Scale => "--scale-out",
        Slot::Output => "--output",
        _ => "INPUT",
    }
}

/// The dtype that an operand is read in, where the command line says so, and the flag that does.
pub fn asked(definition: &Definition, slot: Slot) -> (Option<DType>, Option<&'static str>) {
    match slot {
        Slot::Input => (definition.dtype, Some("--dtype")),
        Slot::Weight | Slot::Bias => (definition.weight_dtype, Some("--weight-dtype")),
        Slot::Residual => (definition.beside.residual_dtype, Some("--residual-dtype")),
        Slot::Gate => (definition.beside.gate_dtype, Some("--gate-dtype")),
        _ => (Some(DType::F32), None),
    }
}

fn nowhere(slot: Slot) -> Failure {
    match slot {
        Slot::ResidualOut => Failure::new(
            "--residual: its sum has nowhere to go",
            "say where its sum with the input goes with --residual-out, or add it to the result with --add-after",
        ),
        Slot::Scale => Failure::new(
            "--quantized: the scales of its rows have nowhere to go",
            "say where they go with --scale-out, or give one for all rows with --scale",
        ),
        _ => Failure::new(format_args!("the {slot} has nowhere to go"), format_args!("say where with {}", flag(slot))),
    }
}
