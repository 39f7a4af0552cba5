//! The browser's GPU.

use std::cell::OnceCell;
use std::rc::Rc;

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use wgpu_rmsnorm::verify::{Case, PIPELINES_TO_KEEP, Tier, cases, run_case};
use wgpu_rmsnorm::wgpu::{DeviceDescriptor, Features};
use wgpu_rmsnorm::{Error, Gpu as Inner, adapters};

use crate::error::{NormError, Refused, Result, describe};
use crate::fields::{Fields, object, whole};
use crate::norm::Norm;
use crate::{spec, timing, verify};

/// Features that the device is opened with, where the browser has them, by the names that they have there.
const FEATURES: [(Features, &str); 2] = [(Features::SUBGROUP, "subgroups"), (Features::TIMESTAMP_QUERY, "timestamp-query")];

/// A device.
#[wasm_bindgen]
pub struct Gpu {
    gpu: Inner,
    /// The verification's cases, made where they are asked for.
    list: OnceCell<Rc<[Case]>>,
}

#[wasm_bindgen]
impl Gpu {
    /// Opens the browser's preferred high-performance adapter, with its timestamps.
    pub async fn open(self_test: bool) -> Result<Gpu> {
        let Some(adapter) = adapters(false).await.into_iter().next() else {
            // The library says it best.
            return Inner::new().await.map(Self::of).map_err(NormError::from);
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
        let gpu = Inner::from_wgpu(device, queue).await?;
        Ok(Self::of(if self_test { gpu.tested().await? } else { gpu }))
    }

    fn of(gpu: Inner) -> Self {
        Self { gpu, list: OnceCell::new() }
    }

    /// The optional features that the device was opened with.
    pub fn features(&self) -> Vec<String> {
        let opened = self.gpu.device().features();
        FEATURES.into_iter().filter(|(feature, _)| opened.contains(*feature)).map(|(_, name)| name.to_owned()).collect()
    }

    /// Whether lanes of a workgroup are joined by subgroups.
    pub fn uses_subgroups(&self) -> bool {
        self.gpu.caps().subgroups
    }

    /// What the device allows.
    pub fn limits(&self) -> JsValue {
        let caps = self.gpu.caps();
        object(&[
            ("max_binding", (caps.max_binding as f64).into()),
            ("max_buffer", (caps.max_buffer as f64).into()),
            ("max_invocations", caps.max_invocations.into()),
            ("workgroup_memory", caps.workgroup_memory.into()),
        ])
    }

    /// A norm on this device.
    pub fn norm(&self, spec: &JsValue) -> Result<Norm> {
        Ok(Norm(self.gpu.norm(spec::from_js(spec)?)?))
    }

    /// The verification's cases.
    pub fn cases(&self, tier: &JsValue) -> Result<Array> {
        let tier = match tier.as_string().as_deref() {
            Some("quick") => Tier::Quick,
            Some("full") => Tier::Full,
            _ => {
                let remedy = "choose one of these";
                return Err(Refused::Argument.because("tier", "\"quick\" or \"full\"", &describe(tier), remedy));
            }
        };
        let list = self.list();
        let chosen = list.iter().enumerate().filter(|(_, case)| case.tier <= tier);
        Ok(chosen.map(|(index, case)| verify::case_to_js(index, case)).collect())
    }

    /// Runs one of them.
    pub fn run_case(&self, case: &JsValue) -> Result<Promise> {
        let fields = Fields::new("case", case, &verify::CASE_FIELDS, Refused::Argument)?;
        let list = self.list();
        let index = fields.whole("index")?.map(|index| index as usize).filter(|index| *index < list.len());
        let Some(index) = index else {
            return Err(Refused::Argument.because("case", "one of Gpu.cases", &describe(case), "pass one of these"));
        };
        let gpu = self.gpu.clone();
        Ok(future_to_promise(async move {
            let report = run_case(&gpu, &list[index]).await;
            gpu.trim_pipelines(PIPELINES_TO_KEEP);
            Ok(verify::report_to_js(&report))
        }))
    }

    /// Times a norm and a copy of its bytes, in turns, for about so many seconds.
    pub fn time(&self, spec: &JsValue, rows: &JsValue, seconds: f64) -> Result<Promise> {
        let (spec, rows) = (spec::from_js(spec)?, whole("rows", rows)?);
        if rows == 0 {
            return Err(Refused::Shape.because("rows", "at least 1", "0", "pass the number of rows to be timed"));
        }
        let gpu = self.gpu.clone();
        Ok(future_to_promise(async move {
            let timed = timing::time(&gpu, spec, rows, seconds).await;
            timed.map_err(|error| NormError::from(error).into())
        }))
    }

    /// Gives the device back, at once: whatever still uses it finds it lost.
    pub fn destroy(&self) {
        self.gpu.device().destroy();
    }
}

impl Gpu {
    fn list(&self) -> Rc<[Case]> {
        self.list.get_or_init(|| cases(Tier::Full).into()).clone()
    }
}
