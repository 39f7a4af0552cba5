//! The browser's GPU.

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use wgpu_rmsnorm::wgpu::{DeviceDescriptor, Features};
use wgpu_rmsnorm::{Error, Gpu as Inner, adapters};

use crate::error::{NormError, Result};
use crate::fields::object;

/// Features that the device is opened with, where the browser has them, by the names that they have there.
const FEATURES: [(Features, &str); 2] = [(Features::SUBGROUP, "subgroups"), (Features::TIMESTAMP_QUERY, "timestamp-query")];

/// A device.
#[wasm_bindgen]
pub struct Gpu(pub(crate) Inner);

#[wasm_bindgen]
impl Gpu {
    /// Opens the browser's preferred high-performance adapter, with its timestamps.
    pub async fn open() -> Result<Gpu> {
        let Some(adapter) = adapters(false).await.into_iter().next() else {
            // The library says it best.
            return Ok(Gpu(Inner::new().await?));
        };
        let descriptor = DeviceDescriptor {
            label: Some("wgpu-rmsnorm"),
            required_features: adapter.useful_features() | (adapter.wgpu().features() & Features::TIMESTAMP_QUERY),
            required_limits: adapter.wgpu().limits(),
            ..Default::default()
        };
        let opened = adapter.wgpu().request_device(&descriptor).await;
        let (device, queue) =
            opened.map_err(|error| Error::NoDevice { adapter: adapter.to_string(), message: error.to_string() })?;
        Ok(Gpu(Inner::from_wgpu(device, queue).await?))
    }

    /// The same device, planned for by what passed the self-test.
    pub fn tested(&self) -> Promise {
        let gpu = self.0.clone();
        future_to_promise(async move { Ok(Gpu(gpu.tested().await.map_err(NormError::from)?).into()) })
    }

    /// The optional features that the device was opened with.
    pub fn features(&self) -> Vec<String> {
        let opened = self.0.device().features();
        FEATURES.into_iter().filter(|(feature, _)| opened.contains(*feature)).map(|(_, name)| name.to_owned()).collect()
    }

    /// Whether lanes of a workgroup are joined by subgroups.
    pub fn uses_subgroups(&self) -> bool {
        self.0.caps().subgroups
    }

    /// What the device allows.
    pub fn limits(&self) -> JsValue {
        let caps = self.0.caps();
        object(&[
            ("max_binding", (caps.max_binding as f64).into()),
            ("max_buffer", (caps.max_buffer as f64).into()),
            ("max_invocations", caps.max_invocations.into()),
            ("workgroup_memory", caps.workgroup_memory.into()),
        ])
    }

    /// Gives the device back, at once: whatever still uses it finds it lost.
    pub fn destroy(&self) {
        self.0.device().destroy();
    }
}
