#![no_main]

//! Any norm, layout and limits: a plan is refused by its type, or keeps what every plan keeps.

#[path = "../../tests/plan/check.rs"]
mod check;

use libfuzzer_sys::arbitrary::{self, Unstructured};
use libfuzzer_sys::fuzz_target;
use wgpu_rmsnorm::{Caps, DType, DeviceKind, Error, Layout, NormSpec, Plan};

fuzz_target!(|bytes: &[u8]| {
    // Bytes that are too few are no input.
    let _ = planned(&mut Unstructured::new(bytes));
});

fn planned(bytes: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let spec = spec(bytes)?;
    let caps = caps(bytes)?;
    let rows = magnitude(bytes)?;
    // A layout that overflows where it is made is the caller's; it starts from one that fits.
    if spec.validate().is_err() || rows.checked_mul(spec.hidden).and_then(|n| n.checked_mul(8)).is_none() {
        return Ok(());
    }
    let mut layout = Layout::contiguous(&spec, rows);
    let changes = bytes.int_in_range(0..=3)?;
    for (slot, place) in layout.places_mut() {
        if changes > 0 {
            place.offset = magnitude(bytes)? & !3;
            place.size = magnitude(bytes)?;
            place.row_stride = if changes > 1 { magnitude(bytes)? } else { spec.dense_stride(slot) };
            place.buffer = if changes > 2 { bytes.int_in_range(0..=3)? } else { slot as u32 };
        }
    }
    match Plan::new(&spec, &caps, &layout, rows) {
        // What covers rows one by one is checked where there are not millions of chunks.
        Ok(plan) => check::check(&plan, &caps, &layout).unwrap(),
        Err(Error::Limit(_) | Error::Buffer(_) | Error::Shape(_) | Error::Aliasing(_) | Error::Plan(_)) => {}
        Err(other) => panic!("{other:?}"),
    }
    Ok(())
}

/// Numbers of every magnitude.
fn magnitude(bytes: &mut Unstructured<'_>) -> arbitrary::Result<u64> {
    let shift: u32 = bytes.int_in_range(0..=63)?;
    Ok(bytes.arbitrary::<u64>()? >> shift)
}

fn dtype(bytes: &mut Unstructured<'_>) -> arbitrary::Result<DType> {
    bytes.choose(&DType::ALL).copied()
}

fn spec(bytes: &mut Unstructured<'_>) -> arbitrary::Result<NormSpec> {
    let hidden = magnitude(bytes)?;
    let of = if bytes.arbitrary()? { NormSpec::layer_norm(hidden, 1e-6) } else { NormSpec::torch(hidden, 1e-6) };
    let spec = of.input(dtype(bytes)?).weight(dtype(bytes)?).output(dtype(bytes)?);
    let (other, groups) = (dtype(bytes)?, magnitude(bytes)?);
    Ok(match bytes.int_in_range(0..=11)? {
        0 => spec.bias(other),
        1 => spec.groups(groups),
        2 => spec.heads(groups),
        3 => spec.add_residual(other),
        4 => spec.then_add_residual(other),
        5 => spec.gate_input(other),
        6 => spec.gate_output(other),
        7 => spec.partial(groups),
        8 => spec.quantized(DType::I8),
        9 => spec.backward(),
        10 => spec.query_and_key_heads(groups, 1),
        _ => spec.without_weight(),
    })
}

fn caps(bytes: &mut Unstructured<'_>) -> arbitrary::Result<Caps> {
    let power = |bytes: &mut Unstructured<'_>, least: u32, most: u32| bytes.int_in_range(least..=most).map(|n| 1u64 << n);
    Ok(Caps {
        kind: if bytes.arbitrary()? { DeviceKind::Cpu } else { DeviceKind::Gpu },
        subgroup_max: power(bytes, 0, 7)? as u32,
        max_binding: power(bytes, 12, 31)?,
        storage_alignment: power(bytes, 4, 10)? as u32,
        max_workgroups: power(bytes, 1, 16)? as u32 - 1,
        max_invocations: power(bytes, 0, 10)? as u32,
        long_words: bytes.arbitrary()?,
        ..Caps::webgpu_defaults()
    })
}
