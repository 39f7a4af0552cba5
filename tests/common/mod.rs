//! What the tests by adapter share.

use std::sync::Arc;

use libtest_mimic::Trial;
use wgpu_rmsnorm::{Adapter, Gpu, GpuOptions, adapters};

/// Opens every adapter once and lets `add` make its trials, under a short name. One that does not open is a failing trial.
pub fn each_adapter(trials: &mut Vec<Trial>, mut add: impl FnMut(&mut Vec<Trial>, &Adapter, &str, Arc<Gpu>)) {
    for adapter in pollster::block_on(adapters(false)) {
        let name = adapter.info().name.split(" (").next().unwrap_or("adapter").to_owned();
        match pollster::block_on(Gpu::open(&adapter, &GpuOptions::default())) {
            Ok(gpu) => add(trials, &adapter, &name, Arc::new(gpu)),
            Err(error) => trials.push(Trial::test(format!("[{name}] opens"), move || Err(error.to_string().into()))),
        }
    }
}
