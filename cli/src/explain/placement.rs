//! Where operands lie, as the command line says it.

use std::str::FromStr;

use wgpu_rmsnorm::{DType, Layout, NormSpec, Placement, Slot};

use crate::failure::Failure;

/// `OPERAND=BUFFER@BYTE:STRIDE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    operand: Slot,
    buffer: String,
    offset: u64,
    row_stride: Option<u64>,
}

impl FromStr for Place {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "expected OPERAND=BUFFER@BYTE or OPERAND=BUFFER@BYTE:STRIDE, such as input=arena@4096:8192".to_owned();
        let (operand, rest) = text.split_once('=').ok_or_else(form)?;
        let operand = operand
            .parse::<Slot>()
            .map_err(|_| format!("there is no operand {operand:?}; there are: {}", Slot::ALL.map(Slot::name).join(", ")))?;
        let (buffer, numbers) = rest.split_once('@').ok_or_else(form)?;
        let (offset, row_stride) = match numbers.split_once(':') {
            None => (numbers, None),
            Some((offset, stride)) => (offset, Some(stride.parse().map_err(|_| form())?)),
        };
        if buffer.is_empty() {
            return Err(form());
        }
        Ok(Self { operand, buffer: buffer.into(), offset: offset.parse().map_err(|_| form())?, row_stride })
    }
}

impl Place {
    /// Refuses what would be ignored.
    fn check(&self, before: &[Place]) -> Result<(), Failure> {
        let operand = self.operand;
        if before.iter().any(|other| other.operand == operand) {
            return Err(Failure::new(format_args!("--place: the {operand} is placed twice"), "place it once"));
        }
        if self.row_stride.is_some() && !operand.is_by_row() {
            let problem = format!("--place {operand}: one value a channel has no rows, and so no stride");
            return Err(Failure::new(problem, "leave the stride out"));
        }
        Ok(())
    }
}

/// The layout in which these operands lie where they are placed and all others in buffers of their own. Buffers are as large as
/// what lies in them needs.
pub fn layout(spec: &NormSpec, rows: u64, places: &[Place], in_place: bool) -> Result<Layout, Failure> {
    let mut layout = if in_place { Layout::in_place(spec, rows) } else { Layout::contiguous(spec, rows) };
    let mut named: Vec<&str> = Vec::new();
    for (index, place) in places.iter().enumerate() {
        place.check(&places[..index])?;
        if layout.get(place.operand).is_none() {
            let problem = format!("--place {}: the norm has no {0}", place.operand);
            return Err(Failure::new(problem, "leave it out, or ask for a norm with one"));
        }
        let buffer = named.iter().position(|name| *name == place.buffer).unwrap_or_else(|| {
            named.push(&place.buffer);
            named.len() - 1
        });
        let row_stride = place.row_stride.unwrap_or(spec.dense_stride(place.operand));
        // Behind the numbers of the operands that have buffers of their own.
        let buffer = (Slot::ALL.len() + buffer) as u32;
        layout = layout.with(place.operand, Placement { buffer, size: 0, offset: place.offset, row_stride });
    }
    fit_buffers(spec, rows, &mut layout);
    Ok(layout)
}

/// Sizes every buffer for what lies in it.
fn fit_buffers(spec: &NormSpec, rows: u64, layout: &mut Layout) {
    let end = |(slot, place): (Slot, Placement)| {
        let rows = if slot.is_by_row() { rows } else { 1 };
        let end = rows.saturating_sub(1).saturating_mul(place.row_stride).saturating_add(spec.length_of(slot));
        let size = spec.dtype_of(slot).map_or(0, DType::size);
        let bytes = end.saturating_mul(size).saturating_add(place.offset);
        (place.buffer, bytes.checked_next_multiple_of(16).unwrap_or(u64::MAX))
    };
    let ends: Vec<(u32, u64)> = layout.places().map(end).collect();
    for (_, place) in layout.places_mut() {
        place.size = ends.iter().filter(|(buffer, _)| *buffer == place.buffer).map(|(_, end)| *end).max().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_parsed() {
        let place = "input=arena@4096:8192".parse::<Place>().unwrap();
        assert_eq!((place.offset, place.row_stride, place.buffer.as_str()), (4096, Some(8192), "arena"));
        assert_eq!("output=a@0".parse::<Place>().unwrap().row_stride, None);
        for wrong in
            ["", "input", "input=", "input=a", "input=@4", "input=a@", "input=a@x", "input=a@1:", "scales=a@0", "input=a@-1"]
        {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn operands_of_one_name_share_a_buffer_that_holds_them() {
        let spec = NormSpec::torch(8, 1e-6);
        let places = ["input=arena@0:16", "output=arena@4096"].map(|text| text.parse().unwrap());
        let layout = layout(&spec, 3, &places, false).unwrap();
        let [input, weight, output] = [Slot::Input, Slot::Weight, Slot::Output].map(|slot| layout.get(slot).unwrap());
        assert_eq!((input.buffer, input.size), (output.buffer, 4096 + 96));
        assert_ne!(weight.buffer, input.buffer);
        layout.validate(&spec, 3).unwrap();
    }
}
