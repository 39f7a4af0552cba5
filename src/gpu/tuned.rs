//! Devices that plan by a tuning record.

use std::sync::Arc;

use super::device::Gpu;
use crate::error::Result;
use crate::plan::{Force, Layout, Plan};
use crate::spec::NormSpec;
use crate::tuning::{Origin, Tuning};

impl Gpu {
    /// The same device, whose norms are planned by a record of what was measured on it: [`Plan::tuned`]. What a caller forces comes
    /// before the record, and where the record has nothing, or nothing that applies, the plan is the usual one.
    ///
    /// A record with lanes [changes bits](Tuning::changes_bits), of all norms of their lengths alike.
    ///
    /// ```no_run
    /// use wgpu_rmsnorm::{Gpu, Tuning};
    ///
    /// let gpu = Gpu::new_blocking()?;
    /// // Written by: wgpu-rmsnorm tune decode --dtype bf16 --record tuning.txt
    /// let record = std::fs::read("tuning.txt").unwrap_or_default();
    /// let gpu = match Tuning::from_bytes(&record).and_then(|tuning| gpu.with_tuning(tuning)) {
    ///     Ok(tuned) => tuned,
    ///     // Another driver since, or no record yet: the plan's own choices are good ones.
    ///     Err(_) => gpu,
    /// };
    /// # Ok::<(), wgpu_rmsnorm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Tuning`](crate::Error::Tuning) where the record is of another adapter, driver, version of the driver or backend.
    pub fn with_tuning(&self, tuning: Tuning) -> Result<Self> {
        tuning.check(&self.origin())?;
        let mut gpu = self.clone();
        gpu.tuning = Some(Arc::new(tuning));
        Ok(gpu)
    }

    /// The record that norms are planned by.
    pub fn tuning(&self) -> Option<&Tuning> {
        self.tuning.as_deref()
    }

    /// This device as the origin of a record.
    pub fn origin(&self) -> Origin {
        let wgpu::AdapterInfo { name, driver, driver_info, backend, .. } = self.info();
        Origin::new(name, driver, driver_info, &format!("{backend:?}"))
    }

    /// Plans by the record, where there is one.
    pub(super) fn plan(&self, spec: &NormSpec, layout: &Layout, rows: u64, force: Force) -> Result<Plan> {
        match self.tuning() {
            None => Plan::with(spec, self.caps(), layout, rows, force),
            Some(tuning) => Plan::tuned(spec, self.caps(), layout, rows, force, tuning),
        }
    }
}
