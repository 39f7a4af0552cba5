//! What the tests by adapter share.

use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Failed, Trial};
use wgpu_rmsnorm::{Adapter, Gpu, GpuOptions, adapters};

/// An adapter with a device for every test that runs at the same time: a software driver compiles on its device's one queue.
pub struct Devices {
    adapter: Adapter,
    /// Opened first, and tested.
    first: Gpu,
    idle: Mutex<Vec<Gpu>>,
}

impl Devices {
    /// Runs a test on a device that is its own meanwhile.
    pub fn run(&self, test: impl FnOnce(&Gpu) -> Result<(), Failed>) -> Result<(), Failed> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let gpu = match waiting {
            Some(gpu) => gpu,
            None => pollster::block_on(Gpu::open(&self.adapter, &GpuOptions::default().without_self_test()))?
                .with_caps(*self.first.caps()),
        };
        let result = test(&gpu);
        idle().push(gpu);
        result
    }
}

/// Opens every adapter and lets `add` make its trials, under a short name. One that does not open is a failing trial.
pub fn each_adapter(trials: &mut Vec<Trial>, mut add: impl FnMut(&mut Vec<Trial>, &Adapter, &str, &Arc<Devices>)) {
    for adapter in pollster::block_on(adapters(false)) {
        let name = adapter.info().name.split(" (").next().unwrap_or("adapter").to_owned();
        match pollster::block_on(Gpu::open(&adapter, &GpuOptions::default())) {
            Ok(first) => {
                let devices = Devices { adapter: adapter.clone(), idle: Mutex::new(vec![first.clone()]), first };
                add(trials, &adapter, &name, &Arc::new(devices));
            }
            Err(error) => trials.push(Trial::test(format!("[{name}] opens"), move || Err(error.to_string().into()))),
        }
    }
}
