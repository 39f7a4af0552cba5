//! What the tests by adapter share.

use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Failed, Trial};
use wgpu_rmsnorm::verify::Tier;
use wgpu_rmsnorm::{Adapter, Gpu, GpuOptions, adapters};

/// What the environment asks for: `WGPU_RMSNORM_TIER=full` is everything.
pub fn tier() -> Tier {
    match std::env::var("WGPU_RMSNORM_TIER").as_deref() {
        Ok("full") => Tier::Full,
        _ => Tier::Quick,
    }
}

/// Neighbours in a list often have a kernel in common, and compiling it is what takes time: this many stay together.
const NEIGHBOURS: usize = 8;

/// An adapter with a device for every test that runs at the same time: a software driver compiles on its device's one queue.
pub struct Devices {
    adapter: Adapter,
    /// Opened first, and tested.
    first: Gpu,
    idle: Mutex<Vec<Gpu>>,
    /// Which of how many adapters this is.
    turn: (usize, usize),
}

impl Devices {
    /// Whether this adapter runs what has this index in a list: in the full tier all adapters run all of it, in the quick tier they
    /// take turns.
    pub fn takes(&self, index: usize) -> bool {
        let (number, adapters) = self.turn;
        tier() == Tier::Full || (index / NEIGHBOURS) % adapters == number
    }

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
    let found = pollster::block_on(adapters(false));
    for (number, adapter) in found.iter().enumerate() {
        let name = adapter.info().name.split(" (").next().unwrap_or("adapter").to_owned();
        match pollster::block_on(Gpu::open(adapter, &GpuOptions::default())) {
            Ok(first) => {
                let turn = (number, found.len());
                let devices = Devices { adapter: adapter.clone(), idle: Mutex::new(vec![first.clone()]), first, turn };
                add(trials, adapter, &name, &Arc::new(devices));
            }
            Err(error) => trials.push(Trial::test(format!("[{name}] opens"), move || Err(error.to_string().into()))),
        }
    }
}
