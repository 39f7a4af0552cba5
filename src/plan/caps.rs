//! What a device offers.

use std::fmt;

use super::{ROW_DIGIT_VALUES, Rung};

/// What kind of processor runs the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A software driver: a subgroup is a vector register, and barriers are expensive.
    Cpu,
    /// Any GPU, and what does not say.
    Gpu,
}

/// The rungs of the ladder that give the same bits on a device, as its self-test found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rungs {
    /// Whether [`Rung::Multi`] may be planned.
    pub multi: bool,
    /// Whether [`Rung::Looped`] may be planned.
    pub looped: bool,
    /// Whether [`Rung::Solo`] may be planned.
    pub solo: bool,
    /// Whether [`Rung::Registers`] may be planned.
    pub registers: bool,
    /// Whether [`Rung::Split`] may be planned.
    pub split: bool,
}

impl Rungs {
    /// All of them.
    pub const ALL: Rungs = Rungs { multi: true, looped: true, solo: true, registers: true, split: true };

    /// Whether `rung` is among them.
    pub const fn contains(self, rung: Rung) -> bool {
        match rung {
            Rung::Multi => self.multi,
            Rung::Looped => self.looped,
            Rung::Solo => self.solo,
            Rung::Registers => self.registers,
            Rung::Split => self.split,
        }
    }
}

/// What a device offers, as plain data: device limits (never the adapter's), its kind, and what its self-test found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caps {
    /// Software or GPU.
    pub kind: DeviceKind,
    /// Smallest subgroup, 0 where unknown.
    pub subgroup_min: u32,
    /// Largest subgroup, 0 where unknown.
    pub subgroup_max: u32,
    /// Whether kernels may use subgroups: the device has the feature, and its self-test passed.
    pub subgroups: bool,
    /// Bytes that one storage binding may span.
    pub max_binding: u64,
    /// Bytes that one buffer may have.
    pub max_buffer: u64,
    /// Alignment of a storage binding's offset, in bytes.
    pub storage_alignment: u32,
    /// Alignment of a dynamic uniform offset, in bytes.
    pub uniform_alignment: u32,
    /// Workgroups on one axis of a dispatch.
    pub max_workgroups: u32,
    /// Invocations of a workgroup on its first axis.
    pub max_invocations: u32,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Storage buffers that a pipeline may bind.
    pub max_storage_buffers: u32,
    /// Whether 16 bytes are best accessed as two 64-bit words, and what is not aligned to 16 bytes by 64-bit words too: on software
    /// drivers that take every access apart, where the device has 64-bit integers.
    pub long_words: bool,
    /// The rungs that may be planned.
    pub rungs: Rungs,
}

impl Caps {
    /// What every WebGPU device offers: the specification's default limits, subgroups unknown.
    pub const fn webgpu_defaults() -> Self {
        Self {
            kind: DeviceKind::Gpu,
            subgroup_min: 0,
            subgroup_max: 0,
            subgroups: false,
            max_binding: 128 << 20,
            max_buffer: 256 << 20,
            storage_alignment: 256,
            uniform_alignment: 256,
            max_workgroups: 65_535,
            max_invocations: 256,
            workgroup_memory: 16 << 10,
            max_storage_buffers: 8,
            long_words: false,
            rungs: Rungs::ALL,
        }
    }
}

impl Caps {
    /// These caps where `device` has them: no limit above the device's, no alignment below.
    #[must_use]
    pub fn within(self, device: &Caps) -> Self {
        Self {
            max_binding: self.max_binding.min(device.max_binding),
            max_buffer: self.max_buffer.min(device.max_buffer),
            storage_alignment: self.storage_alignment.max(device.storage_alignment),
            uniform_alignment: self.uniform_alignment.max(device.uniform_alignment),
            max_workgroups: self.max_workgroups.min(device.max_workgroups),
            max_invocations: self.max_invocations.min(device.max_invocations),
            workgroup_memory: self.workgroup_memory.min(device.workgroup_memory),
            max_storage_buffers: self.max_storage_buffers.min(device.max_storage_buffers),
            subgroups: self.subgroups && device.subgroups,
            long_words: self.long_words && device.long_words,
            ..self
        }
    }

    /// Bytes from one dynamic uniform to the next: the alignment, and room for the 16 bytes of one.
    pub const fn uniform_step(&self) -> u64 {
        if self.uniform_alignment > 16 { self.uniform_alignment as u64 } else { 16 }
    }

    /// Bytes of device memory that a device holds for all norms together: the table of the 256 row digits. What a prepared norm
    /// holds besides is [`Plan::held_bytes`](crate::Plan::held_bytes).
    ///
    /// ```
    /// assert_eq!(wgpu_rmsnorm::Caps::webgpu_defaults().held_bytes(), 256 * 256);
    /// ```
    pub const fn held_bytes(&self) -> u64 {
        ROW_DIGIT_VALUES * self.uniform_step()
    }
}

impl fmt::Display for Caps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DeviceKind::Cpu => "software",
            DeviceKind::Gpu => "GPU",
        };
        write!(
            f,
            "{kind}, subgroups {}..{}{}, bindings of {} MiB at {} B, {} workgroups of {} invocations, {} KiB of workgroup memory",
            self.subgroup_min,
            self.subgroup_max,
            if self.subgroups { " that kernels use" } else { "" },
            self.max_binding >> 20,
            self.storage_alignment,
            self.max_workgroups,
            self.max_invocations,
            self.workgroup_memory >> 10,
        )?;
        if self.long_words { write!(f, ", 64-bit words") } else { Ok(()) }
    }
}
