//! Norms on the browser's GPU.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use wgpu_rmsnorm::{BySlot, Inputs, Layout, Norm as Inner, Outputs, Slot, Values};

use crate::error::{NormError, Refused, Result};
use crate::fields::{Fields, object, whole};
use crate::gpu::Gpu;
use crate::{spec, tensor};

/// What a norm may read, as index.d.ts has it.
const READ: [Slot; 5] = [Slot::Input, Slot::Weight, Slot::Bias, Slot::Residual, Slot::Gate];
/// What a norm may write.
const WRITTEN: [Slot; 3] = [Slot::Output, Slot::ResidualOut, Slot::Rstd];

#[wasm_bindgen]
impl Gpu {
    /// A norm on this device.
    pub fn norm(&self, spec: &JsValue) -> Result<Norm> {
        Ok(Norm(self.0.norm(spec::from_js(spec)?)?))
    }
}

/// A norm on a GPU.
#[wasm_bindgen]
pub struct Norm(Inner);

#[wasm_bindgen]
impl Norm {
    /// Normalises rows. The operands are copied before this returns, so that the caller may change them.
    pub fn run(&self, inputs: &JsValue) -> Result<Promise> {
        let norm = self.0.clone();
        let values = read(&norm, inputs)?;
        Ok(future_to_promise(async move {
            let empty = Inputs::new(&[0f32; 0]);
            let inputs = values.iter().fold(empty, |all, (slot, values)| all.with(slot, Some(values.as_slice())));
            let outputs = norm.run_all(&inputs).await.map_err(NormError::from)?;
            Ok(written(&outputs))
        }))
    }

    /// How so many rows would be computed, in words.
    pub fn explain(&self, rows: &JsValue) -> Result<String> {
        let rows = whole("rows", rows)?;
        Ok(self.0.plan(&Layout::contiguous(self.0.spec(), rows), rows)?.to_string())
    }

    /// The text of the kernel for so many rows.
    pub fn shader(&self, rows: &JsValue) -> Result<String> {
        let rows = whole("rows", rows)?;
        Ok(self.0.plan(&Layout::contiguous(self.0.spec(), rows), rows)?.shader().wgsl)
    }
}

fn read(norm: &Inner, inputs: &JsValue) -> Result<BySlot<Values>> {
    let fields = Fields::new("inputs", inputs, &READ.map(Slot::name), Refused::Shape)?;
    let mut all = BySlot::default();
    for slot in READ {
        if let Some(array) = fields.get(slot.name()) {
            all.set(slot, Some(tensor::from_js(slot.name(), &array, norm.spec().dtype_of(slot))?));
        }
    }
    if all.get(Slot::Input).is_none() {
        return Err(Refused::Shape.because("input", "rows", "nothing", "pass whole rows, one after the other"));
    }
    Ok(all)
}

fn written(outputs: &Outputs) -> JsValue {
    let found = WRITTEN.into_iter().filter_map(|slot| Some((slot.name(), tensor::to_js(outputs.get(slot)?))));
    object(&found.collect::<Vec<_>>())
}
