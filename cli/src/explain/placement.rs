//! Where operands lie, as the command line says it.

use std::str::FromStr;

use wgpu_rmsnorm::{Layout, NormSpec, Placement};

use crate::failure::Failure;

/// `OPERAND=BUFFER@BYTE:STRIDE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    operand: String,
    buffer: String,
    offset: u64,
    row_stride: Option<u64>,
}

const OPERANDS: [&str; 6] = ["input", "weight", "bias", "residual", "residual_out", "output"];

impl FromStr for Place {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "expected OPERAND=BUFFER@BYTE or OPERAND=BUFFER@BYTE:STRIDE, such as input=arena@4096:8192".to_owned();
        let (operand, rest) = text.split_once('=').ok_or_else(form)?;
        if !OPERANDS.contains(&operand) {
            return Err(format!("there is no operand {operand:?}; there are: {}", OPERANDS.join(", ")));
        }
        let (buffer, numbers) = rest.split_once('@').ok_or_else(form)?;
        let (offset, row_stride) = match numbers.split_once(':') {
            None => (numbers, None),
            Some((offset, stride)) => (offset, Some(stride.parse().map_err(|_| form())?)),
        };
        if buffer.is_empty() {
            return Err(form());
        }
        Ok(Self { operand: operand.into(), buffer: buffer.into(), offset: offset.parse().map_err(|_| form())?, row_stride })
    }
}

impl Place {
    /// Refuses what would be ignored.
    fn check(&self, before: &[Place]) -> Result<(), Failure> {
        let operand = &self.operand;
        if before.iter().any(|other| other.operand == *operand) {
            return Err(Failure::new(format_args!("--place: the {operand} is placed twice"), "place it once"));
        }
        if self.row_stride.is_some() && ["weight", "bias"].contains(&operand.as_str()) {
            let problem = format_args!("--place {operand}: one value a channel has no rows, and so no stride");
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
        let operand = match place.operand.as_str() {
            "input" => Some(&mut layout.input),
            "output" => Some(&mut layout.output),
            "weight" => layout.weight.as_mut(),
            "bias" => layout.bias.as_mut(),
            "residual" => layout.residual.as_mut(),
            _ => layout.residual_out.as_mut(),
        };
        let Some(operand) = operand else {
            let problem = format!("--place {}: the norm has no {0}", place.operand);
            return Err(Failure::new(problem, "leave it out, or ask for a norm with one"));
        };
        let buffer = named.iter().position(|name| *name == place.buffer).unwrap_or_else(|| {
            named.push(&place.buffer);
            named.len() - 1
        });
        operand.buffer = (OPERANDS.len() + buffer) as u32;
        operand.offset = place.offset;
        operand.row_stride = place.row_stride.unwrap_or(spec.hidden);
    }
    fit_buffers(spec, rows, &mut layout);
    Ok(layout)
}

/// Sizes every buffer for what lies in it.
fn fit_buffers(spec: &NormSpec, rows: u64, layout: &mut Layout) {
    let end = |place: &Placement, rows: u64, size: u64| {
        let last = rows.saturating_sub(1).saturating_mul(place.row_stride);
        last.saturating_add(spec.hidden)
            .saturating_mul(size)
            .saturating_add(place.offset)
            .checked_next_multiple_of(16)
            .unwrap_or(u64::MAX)
    };
    let channel = |place: Option<Placement>, dtype: Option<wgpu_rmsnorm::DType>| Some((place?, end(&place?, 1, dtype?.size())));
    let residual = spec.residual_dtype();
    let by_row = |place: Option<Placement>| Some((place?, end(&place?, rows, residual?.size())));
    let ends: Vec<(Placement, u64)> = [
        by_row(layout.residual),
        by_row(layout.residual_out),
        Some((layout.input, end(&layout.input, rows, spec.input.size()))),
        channel(layout.weight, spec.weight),
        channel(layout.bias, spec.bias),
        Some((layout.output, end(&layout.output, rows, spec.output_dtype().size()))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let size = |buffer: u32| ends.iter().filter(|(place, _)| place.buffer == buffer).map(|(_, end)| *end).max().unwrap_or(0);
    let Layout { input, weight, bias, residual, residual_out, output } = layout;
    let all = [Some(input), weight.as_mut(), bias.as_mut(), residual.as_mut(), residual_out.as_mut(), Some(output)];
    for place in all.into_iter().flatten() {
        place.size = size(place.buffer);
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
            ["", "input", "input=", "input=a", "input=@4", "input=a@", "input=a@x", "input=a@1:", "scale=a@0", "input=a@-1"]
        {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn operands_of_one_name_share_a_buffer_that_holds_them() {
        let spec = NormSpec::torch(8, 1e-6);
        let places = ["input=arena@0:16", "output=arena@4096"].map(|text| text.parse().unwrap());
        let layout = layout(&spec, 3, &places, false).unwrap();
        assert_eq!((layout.input.buffer, layout.input.size), (layout.output.buffer, 4096 + 96));
        assert_ne!(layout.weight.unwrap().buffer, layout.input.buffer);
        layout.validate(&spec, 3).unwrap();
    }
}
