//! The order of summation: which lane adds which elements, and how the lanes join.
//!
//! Element i of a row belongs to lane (i / 4) mod L, component i mod 4. A lane adds the squares of its quads in chains of
//! [`BLOCK`] terms and joins these blocks as a binary tree; then the components join, (x + y) + (z + w); then the lanes by
//! halving: v with v + L/2, then L/4, down to 1. What is absent counts as zero, which adds nothing to a sum of squares. Every
//! rung realises this one tree, so all give the same bits.

use super::caps::{Caps, DeviceKind};

/// Elements that one access covers: two quads, of two neighbouring lanes.
pub(crate) const OCTET: u64 = 8;
/// Quads that a lane adds one after the other before the tree takes over. Rounding errors of a chain grow with its length: rows
/// of equal elements, whose errors all point the same way, show it first.
pub(crate) const BLOCK: u64 = 8;
/// Steps of one invocation over a row beyond which the row gets more lanes: case O11 allows 65,535 loop iterations in all.
const LONG: u64 = 2048;
/// More lanes than this do not pay: a workgroup holds at most 1024 invocations, of two lanes each.
const MOST_OCTET_LANES: u64 = 512;

/// The order of summation of a row: a function of `hidden`, the device's kind and its subgroups alone, or by a tuning record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Order {
    /// Elements of a row, or of a group that is normalised by itself.
    pub hidden: u64,
    /// The first of them, which are summed.
    pub summed: u64,
    /// Lanes: L above. A power of two, at least 2.
    pub lanes: u32,
}

impl Order {
    /// The order for rows of `hidden` elements on this device, all of them summed.
    pub fn new(hidden: u64, caps: &Caps) -> Self {
        Self::partial(hidden, hidden, caps)
    }

    /// The order for rows of `hidden` elements of which the first `summed` are summed.
    pub fn partial(hidden: u64, summed: u64, caps: &Caps) -> Self {
        let octets = hidden.div_ceil(OCTET).max(1);
        let usual = match caps.kind {
            // As wide as the vector register: a workgroup is then one register of invocations, and barriers cost nothing.
            DeviceKind::Cpu => u64::from(caps.subgroup_max.clamp(4, 16)).next_power_of_two(),
            // Two octets a lane leave room for 16-byte loads in flight; below a subgroup nothing is won.
            DeviceKind::Gpu => (octets.next_power_of_two() / 2).clamp(8, 256),
        };
        let octet_lanes = usual.max(long(octets)).min(octets.next_power_of_two());
        Self { hidden, summed, lanes: (2 * octet_lanes) as u32 }
    }

    /// The numbers of lanes, in ascending order, in which rows of `hidden` elements can be summed: powers of two.
    pub fn lanes_of(hidden: u64) -> Vec<u32> {
        let octets = hidden.div_ceil(OCTET).max(1);
        let most = octets.next_power_of_two().min(MOST_OCTET_LANES);
        let least = long(octets).min(most);
        (least.ilog2()..=most.ilog2()).map(|exponent| 2 << exponent).collect()
    }

    /// The same in as many lanes, where rows of this length can be summed so.
    pub(super) fn with_lanes(self, lanes: u32) -> Option<Self> {
        Self::lanes_of(self.hidden).contains(&lanes).then_some(Self { lanes, ..self })
    }

    /// Pairs of lanes, which share an octet.
    pub fn octet_lanes(&self) -> u64 {
        u64::from(self.lanes) / 2
    }
    /// Whole octets of a row.
    pub fn whole_octets(&self) -> u64 {
        self.hidden / OCTET
    }
    /// Elements behind the last whole octet.
    pub fn rest(&self) -> u64 {
        self.hidden % OCTET
    }
    /// Whole octets that are summed.
    pub fn summed_octets(&self) -> u64 {
        self.summed / OCTET
    }
    /// Elements that are summed behind the last whole octet.
    pub fn summed_rest(&self) -> u64 {
        self.summed % OCTET
    }
    /// Octets that are summed, a partial one included.
    pub fn octets(&self) -> u64 {
        self.summed.div_ceil(OCTET)
    }
    /// Steps in which every lane has a whole octet.
    pub fn full_steps(&self) -> u64 {
        self.summed_octets() / self.octet_lanes()
    }
    /// Steps of a lane over the row: at most one more, in which some lanes have nothing.
    pub fn steps(&self) -> u64 {
        self.octets().div_ceil(self.octet_lanes())
    }
    /// Blocks of a lane, the last one perhaps partial.
    pub fn blocks(&self) -> u64 {
        self.steps().div_ceil(BLOCK)
    }
}

/// Octet lanes that long rows have at least.
fn long(octets: u64) -> u64 {
    octets.div_ceil(LONG).next_power_of_two().min(MOST_OCTET_LANES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_ignores_limits() {
        let caps = Caps::webgpu_defaults();
        let small = Caps { max_invocations: 16, workgroup_memory: 1024, max_binding: 4096, max_workgroups: 7, ..caps };
        for hidden in [1, 7, 8, 128, 769, 4096, 65_537, 1 << 20] {
            assert_eq!(Order::new(hidden, &caps), Order::new(hidden, &small));
        }
    }

    #[test]
    fn o11_steps_stay_far_below_65_535() {
        for kind in [DeviceKind::Cpu, DeviceKind::Gpu] {
            let caps = Caps { kind, subgroup_max: 4, ..Caps::webgpu_defaults() };
            for shift in 0..24 {
                let order = Order::new((1 << shift) + 1, &caps);
                assert!(order.steps() <= 4096, "{order:?}");
                assert!(order.lanes.is_power_of_two());
                assert!(Order::lanes_of(order.hidden).contains(&order.lanes), "{order:?}");
            }
        }
    }
}
