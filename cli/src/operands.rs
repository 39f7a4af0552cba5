//! The operands of a norm, kept by name.

use wgpu_rmsnorm::{BySlot, Inputs, Values};

/// Borrows values as a norm's inputs.
pub fn inputs(values: &BySlot<Values>) -> Inputs<'_> {
    let nothing = Inputs::new(&[] as &[f32]);
    values.iter().fold(nothing, |inputs, (slot, values)| inputs.with(slot, Some(values.as_slice())))
}
