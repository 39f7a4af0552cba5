//! Choices that were measured on one device, kept from one run of a program to the next.

mod choice;
mod kernel;
mod text;

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Detail, Error, Result};
use crate::plan::{Force, Order};
use crate::spec::NormSpec;
pub(crate) use choice::words as words_of;

/// The device that a record was measured on: what wgpu says of it, as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    adapter: String,
    driver: String,
    driver_version: String,
    backend: String,
}

impl Origin {
    /// A device by its adapter's name, its driver, the driver's version and the backend. Whatever is no printable character counts
    /// as a blank, for a record has a line for each.
    pub fn new(adapter: &str, driver: &str, driver_version: &str, backend: &str) -> Self {
        let line = |text: &str| {
            let printable = text.replace(char::is_control, " ");
            printable.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let [adapter, driver, driver_version, backend] = [adapter, driver, driver_version, backend].map(line);
        Self { adapter, driver, driver_version, backend }
    }

    /// The four, by their names in a record.
    fn fields(&self) -> [(&'static str, &str); 4] {
        [
            ("adapter", &self.adapter),
            ("driver", &self.driver),
            ("driver_version", &self.driver_version),
            ("backend", &self.backend),
        ]
    }
}

/// Adapter, driver with its version, and backend.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {}, {})", self.adapter, self.driver, self.driver_version, self.backend)
    }
}

/// A record of what was measured to be best on one device: for a norm and a number of rows, choices of the plan; for a length of
/// rows, the number of lanes that they are summed in.
///
/// [`Plan::tuned`](crate::Plan::tuned) and `Gpu::with_tuning` plan by it. `wgpu-rmsnorm tune` measures and writes one; a program
/// may make its own. It is plain data, and needs no device.
///
/// **Bits.** Choices share the same sum out differently, and change no bit of a result. Lanes are the order of the sum: a record
/// that [changes bits](Tuning::changes_bits) gives results that differ, in the last place, from those without it. It does so once:
/// the lanes hold for every norm of that length, in any batch and on every rung, so that with one record a row has the same bits
/// everywhere, as it has without. Share such a record between the parts of a program that compare bits, or leave lanes out.
///
/// ```
/// use wgpu_rmsnorm::{Caps, Force, Layout, NormSpec, Origin, Plan, Rung, Tuning};
///
/// let spec = NormSpec::torch(4096, 1e-6);
/// let mut tuning = Tuning::new(Origin::new("Some GPU", "some driver", "1.2", "Vulkan"));
/// tuning.set(&spec, 512, Force::default().rung(Rung::Looped).width(64));
/// assert!(!tuning.changes_bits());
///
/// // What is written is read again.
/// assert_eq!(Tuning::from_bytes(&tuning.to_bytes())?, tuning);
///
/// // 600 rows are in the same power of two, and eps has no say.
/// let (spec, caps) = (NormSpec::torch(4096, 1e-5), Caps::webgpu_defaults());
/// let plan = Plan::tuned(&spec, &caps, &Layout::contiguous(&spec, 600), 600, Force::default(), &tuning)?;
/// assert_eq!(plan.width, 64);
/// assert!(plan.to_string().contains("because the tuning record says so"));
/// # Ok::<(), wgpu_rmsnorm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuning {
    origin: Origin,
    /// By the kernel's key, and the power of two of the rows.
    choices: BTreeMap<(String, u32), Force>,
    /// By the length of a row, or of a group that is normalised by itself.
    lanes: BTreeMap<u64, u32>,
}

impl Tuning {
    /// An empty record of a device.
    pub fn new(origin: Origin) -> Self {
        Self { origin, choices: BTreeMap::new(), lanes: BTreeMap::new() }
    }

    /// Reads what [`Tuning::to_bytes`] wrote. Any bytes may come: what is read is no longer than 1 MiB, and checked.
    ///
    /// # Errors
    /// [`Error::Tuning`] where this is no record, a damaged one, or one of another version of this crate, whose kernels and plans
    /// are others.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        text::read(bytes)
    }

    /// The record as text, in lines, with a checksum in the last.
    pub fn to_bytes(&self) -> Vec<u8> {
        text::write(self)
    }

    /// The device that it was measured on.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether it is of this device.
    ///
    /// # Errors
    /// [`Error::Tuning`] that names what differs first: adapter, driver, the driver's version or backend.
    pub fn check(&self, here: &Origin) -> Result<()> {
        let differs = self.origin.fields().into_iter().zip(here.fields()).find(|(record, here)| record != here);
        differs.map_or(Ok(()), |((name, record), (_, here))| {
            Err(Error::Tuning(Detail::new(name, here, record, "measure on this device: wgpu-rmsnorm tune")))
        })
    }

    /// Records a choice for a norm of about `rows` rows: from a power of two up to the next. The default choice, which is none,
    /// takes out what was recorded.
    pub fn set(&mut self, spec: &NormSpec, rows: u64, choice: Force) {
        let key = (kernel::key(spec), bucket(rows));
        if choice == Force::default() {
            self.choices.remove(&key);
        } else {
            self.choices.insert(key, choice);
        }
    }

    /// The choice that is recorded for a norm of `rows` rows. eps, the offset of weights and the scale of codes have no say.
    pub fn choice(&self, spec: &NormSpec, rows: u64) -> Option<Force> {
        self.choices.get(&(kernel::key(spec), bucket(rows))).copied()
    }

    /// Records in how many lanes rows (or groups) of `length` elements are summed, by every norm: a power of two from 2 to 1024.
    /// `None` takes out what was recorded. This changes bits, once: see above.
    ///
    /// # Errors
    /// [`Error::Tuning`] for a number of lanes in which rows of that length are not summed.
    pub fn set_lanes(&mut self, length: u64, lanes: Option<u32>) -> Result<()> {
        let Some(lanes) = lanes else {
            self.lanes.remove(&length);
            return Ok(());
        };
        if !Order::lanes_of(length).contains(&lanes) {
            let allowed: Vec<_> = Order::lanes_of(length).iter().map(|lanes| lanes.to_string()).collect();
            return Err(Error::Tuning(Detail::new(
                "lanes",
                format!("one of {} for rows of {length} elements", allowed.join(", ")),
                lanes.to_string(),
                "choose one of these",
            )));
        }
        self.lanes.insert(length, lanes);
        Ok(())
    }

    /// The lanes that are recorded for rows (or groups) of `length` elements.
    pub fn lanes(&self, length: u64) -> Option<u32> {
        self.lanes.get(&length).copied()
    }

    /// Whether results differ, in the last place, from those without the record: where it has lanes.
    pub fn changes_bits(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// How many choices and lengths are recorded.
    pub fn len(&self) -> usize {
        self.choices.len() + self.lanes.len()
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The power of two at or below a number of rows.
fn bucket(rows: u64) -> u32 {
    rows.max(1).ilog2()
}
