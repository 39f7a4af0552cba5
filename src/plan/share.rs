//! How rows are shared out over workgroups, and why so.

use std::fmt;

use super::split::Pieces;
use super::{Access, AccessMap, Caps, DeviceKind, Force, MOST_ITERATIONS, Order, Reduction, Rung, SharedWords, iterations, keep};
use crate::error::{Detail, Error, Result};
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Elements that a workgroup of a software driver should have: fewer, and starting it costs more than its work.
const WORTH_A_GROUP: u64 = 2048;
/// Invocations that a workgroup of a GPU should have.
const GPU_GROUP: u64 = 128;
/// Workgroups that every core of a software driver should find, so that none stands idle: the rows are shared out over this many.
const GROUPS_TO_KEEP: u64 = 64;
/// Workgroups of an invocation a row that there should be at least.
const SOLO_GROUPS: u64 = 4;
/// Octet lanes that an invocation adds side by side at most. The kernel names each: with 128 of them lavapipe takes 7 s to compile
/// and then loses lanes.
const SOLO_LANES: u64 = 16;
/// Octet lanes that each lane of a subgroup gathers at most.
const MOST_GATHERED: u64 = 16;
/// Rows that a workgroup takes at most.
const MOST_ROUNDS: u64 = 32;

/// What is shared out.
pub(super) struct Row<'a> {
    pub spec: &'a NormSpec,
    pub order: &'a Order,
    pub access: &'a AccessMap,
    pub shared_words: SharedWords,
    /// Whether an output lies where an operand is read.
    pub in_place: bool,
}

/// The rows of a workgroup.
#[derive(Debug)]
pub(super) struct Shares {
    pub rung: Rung,
    /// Invocations a row.
    pub width: u64,
    pub is_alone: bool,
    pub fills_subgroups: bool,
    pub kept: u64,
    pub pieces: Pieces,
    pub reduction: Option<Reduction>,
    pub rows_at_once: u64,
    pub rounds: u64,
    pub reason: Reason,
}

/// Why a rung was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reason {
    Forced,
    FailedSelfTest,
    FewRows,
    /// Solo: rows fill the lanes of a register.
    Register {
        rows: u64,
    },
    /// Split: so few rows that workgroups share each.
    Long {
        rows: u64,
    },
    /// Registers: an invocation keeps so many octets.
    Kept {
        octets: u64,
    },
    /// Multi: what a row keeps busy is less than a workgroup should have.
    Short {
        has: u64,
        should_have: u64,
        of: &'static str,
    },
    /// Looped: a row, or a pair of rows that share words, is enough for a workgroup.
    Enough {
        rows: u64,
        has: u64,
        of: &'static str,
    },
    /// Looped: more rows a workgroup would leave cores idle.
    Idle {
        rows: u64,
    },
    /// Looped: the device's limits leave room for no more.
    NoRoom,
}

impl Shares {
    /// `width` is what several invocations would be that share a row.
    pub fn new(row: &Row<'_>, caps: &Caps, rows: u64, width: u64, force: &Force) -> Result<Self> {
        let Row { spec, order, .. } = *row;
        // Rows that share words take turns, so that one invocation sees both scales.
        let unit = row.shared_words.rows_together();
        let is_software = caps.kind == DeviceKind::Cpu;
        let (has, should_have, of) = match caps.kind {
            DeviceKind::Cpu => (order.hidden, WORTH_A_GROUP, "elements"),
            DeviceKind::Gpu => (width, GPU_GROUP, "invocations"),
        };
        let wanted = match force.workgroup {
            Some(invocations) => u64::from(invocations) / width,
            None => should_have / has,
        };
        let (at_once, rounds) = match caps.kind {
            _ if force.workgroup.is_some() && unit == 1 => (wanted, 1),
            // One register of invocations at a time.
            DeviceKind::Cpu => (1, wanted.clamp(1, MOST_ROUNDS).min(rows / GROUPS_TO_KEEP).max(1)),
            DeviceKind::Gpu if unit == 2 => (1, wanted.clamp(1, 8)),
            DeviceKind::Gpu => (wanted, 1),
        };
        let fits_memory = u64::from(caps.workgroup_memory).saturating_sub(64) / row_memory(spec, order);
        let at_once = at_once.min(u64::from(caps.max_invocations) / width).min(fits_memory).max(1);
        // Powers of two, so that similar numbers of rows share a kernel.
        let rounds = (1u64 << rounds.ilog2()).next_multiple_of(unit);
        let several = at_once * rounds > unit;
        let solo = Self::solo(order, caps, rows, unit);
        let suits_solo = order.octet_lanes() <= SOLO_LANES;
        let fills_registers =
            rows >= solo.0 * solo.1 * SOLO_GROUPS && suits_solo && iterations(spec, order, 1, solo.1) <= MOST_ITERATIONS;
        let kept_width = if is_software { 1 } else { width };
        let kept =
            keep::octets(spec, order, caps, row.access, kept_width, force.rung.is_some()).filter(|_| suits_solo || !is_software);
        let pieces = Pieces::of(row, caps).filter(|pieces| pieces.fit(order, caps, rows));

        let allowed = |rung| caps.rungs.contains(rung);
        let splits = pieces.filter(|pieces| pieces.pay(spec, caps, rows) && allowed(Rung::Split));
        let (rung, reason) = match (force.rung, kept) {
            (Some(rung), _) => (rung, Reason::Forced),
            _ if splits.is_some() => (Rung::Split, Reason::Long { rows }),
            (None, Some(octets)) if (fills_registers || !is_software) && allowed(Rung::Registers) => {
                (Rung::Registers, Reason::Kept { octets })
            }
            _ if is_software && fills_registers && allowed(Rung::Solo) => (Rung::Solo, Reason::Register { rows: solo.0 }),
            _ if several && rows > unit && allowed(Rung::Multi) => (Rung::Multi, Reason::Short { has, should_have, of }),
            _ if several && rows > unit => (Rung::Looped, Reason::FailedSelfTest),
            _ if rows <= unit => (Rung::Looped, Reason::FewRows),
            _ if wanted <= unit => (Rung::Looped, Reason::Enough { rows: unit, has, of }),
            _ if is_software => (Rung::Looped, Reason::Idle { rows }),
            _ => (Rung::Looped, Reason::NoRoom),
        };
        Self::refuse(rung, row, allowed(rung), suits_solo, kept.is_some(), pieces.is_some())?;
        let is_alone = rung == Rung::Solo || rung == Rung::Registers && is_software;
        let (rows_at_once, rounds) = match rung {
            _ if is_alone => solo,
            Rung::Looped | Rung::Split => (1, unit),
            Rung::Multi if !several => (1, 2 * unit),
            _ => (at_once, rounds),
        };
        let kept = kept.filter(|_| rung == Rung::Registers).unwrap_or(0);
        let pieces = pieces.filter(|_| rung == Rung::Split).unwrap_or(Pieces::one(order));
        let reduction = if is_alone { None } else { Self::reduction(row, caps, width, rows_at_once, force)? };
        let width = if is_alone { 1 } else { width };
        // Rows that begin within a word are written from an element of their own, and need other factors at the same time.
        let in_step = row.access.get(Slot::Output) != Access::Element;
        let one_size = caps.subgroups && caps.subgroup_min == caps.subgroup_max;
        // Drivers that take every access apart win by it: 1.1 to 1.3 times on lavapipe, nothing clear on SwiftShader.
        let fills_subgroups = is_alone && in_step && one_size && caps.long_words && rows_at_once == u64::from(caps.subgroup_max);
        Ok(Self { rung, width, is_alone, fills_subgroups, kept, pieces, reduction, rows_at_once, rounds, reason })
    }

    /// How the lanes of a row join that `width` invocations share. Subgroups must be known to be of one size, and full of one row.
    fn reduction(row: &Row<'_>, caps: &Caps, width: u64, rows_at_once: u64, force: &Force) -> Result<Option<Reduction>> {
        let size = u64::from(caps.subgroup_max);
        let gathers = row.order.octet_lanes() / size.max(1);
        let applies = caps.subgroups
            && caps.subgroup_min == caps.subgroup_max
            && size.is_power_of_two()
            && width >= size
            && gathers <= MOST_GATHERED
            && rows_at_once == 1
            && !row.spec.centered
            && !row.spec.is_stats()
            && row.spec.shards().is_none();
        match force.reduction {
            Some(Reduction::Subgroup) if !applies => Err(Error::Limit(Detail::new(
                "reduction",
                "one that applies: subgroups must be of one size, have passed the device's self-test, and be full of one row",
                Reduction::Subgroup.name(),
                "leave the choice to the plan",
            ))),
            Some(reduction) => Ok(Some(reduction)),
            None if applies => Ok(Some(Reduction::Subgroup)),
            None => Ok(Some(Reduction::Workgroup)),
        }
    }

    /// A rung that was asked for and does not apply.
    fn refuse(rung: Rung, row: &Row<'_>, allowed: bool, suits_solo: bool, keeps: bool, splits: bool) -> Result<()> {
        let (expected, remedy) = match rung {
            _ if !allowed => {
                ("one that passed this device's self-test".to_owned(), "leave the choice to the plan, or report the driver")
            }
            Rung::Solo if !suits_solo => (
                format!("one for rows that are summed in {} lanes: solo has {} at most", row.order.lanes, 2 * SOLO_LANES),
                "leave the choice to the plan; solo is for software drivers",
            ),
            Rung::Registers if !keeps => (
                "one that applies: registers hold short rows of whole words, of norms that read a row twice".to_owned(),
                "leave the choice to the plan",
            ),
            Rung::Split if !splits => (
                "one that applies: split is for rows of several blocks and whole words, not in place, of norms that read a row twice"
                    .to_owned(),
                "leave the choice to the plan",
            ),
            _ => return Ok(()),
        };
        Err(Error::Plan(Detail::new("rung", expected, rung.name(), remedy)))
    }

    /// Rows at once, and turns, of workgroups whose invocations each have a row.
    fn solo(order: &Order, caps: &Caps, rows: u64, unit: u64) -> (u64, u64) {
        let lanes = u64::from(caps.subgroup_max.clamp(4, 32)).min(u64::from(caps.max_invocations.max(1)));
        let at_once = 1u64 << lanes.ilog2();
        let wanted = WORTH_A_GROUP * 8 / (order.hidden * at_once);
        let rounds = wanted.clamp(1, MOST_ROUNDS).min(rows / (at_once * GROUPS_TO_KEEP)).max(1);
        (at_once, (1u64 << rounds.ilog2()).next_multiple_of(unit))
    }
}

/// Bytes of workgroup memory for one row: a pair of sums for every octet lane, a flag and a maximum.
/// A mean takes a second pair, a scale of codes a second maximum.
pub(super) fn row_memory(spec: &NormSpec, order: &Order) -> u64 {
    let pairs = 1 + u64::from(spec.centered);
    order.octet_lanes().max(8) * 8 * pairs + 8 + 4 * u64::from(spec.writes_scale())
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::Forced => write!(f, "it was asked for"),
            Reason::FailedSelfTest => write!(f, "the device failed the self-test of the rung multi"),
            Reason::FewRows => write!(f, "there are no more rows to share a workgroup"),
            Reason::Register { rows } => {
                write!(f, "a register has {rows} lanes, one a row: nothing is shared, and software pays for every barrier")
            }
            Reason::Long { rows: 1 } => write!(f, "there is one long row, and workgroups to share it"),
            Reason::Long { rows } => write!(f, "there are {rows} long rows only, and workgroups to share each"),
            Reason::Kept { octets } => {
                write!(f, "an invocation keeps the {octets} octets that it has of a row: each is read once")
            }
            Reason::Short { has, should_have, of } => {
                write!(f, "a row has {has} {of}, and a workgroup should have {should_have}")
            }
            Reason::Enough { rows: 1, has, of } => write!(f, "a row has {has} {of}, enough for a workgroup"),
            Reason::Enough { rows, has, of } => write!(f, "{rows} rows have {has} {of} each, enough for a workgroup"),
            Reason::Idle { rows } => write!(f, "{rows} rows (or groups) are so few that fewer workgroups would leave cores idle"),
            Reason::NoRoom => write!(f, "the device's limits leave no room for a second row"),
        }
    }
}
