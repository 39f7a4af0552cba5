//! What holds for every plan: each row once, within the limits, and no word that two would write.

use proptest::prelude::*;
use wgpu_rmsnorm::plan::SharedWords;
use wgpu_rmsnorm::{Access, Caps, Layout, Plan, Slot};

/// What holds for every plan.
pub fn check(plan: &Plan, caps: &Caps, layout: &Layout) -> Result<(), TestCaseError> {
    // Every row once, in order.
    let mut next = 0;
    for chunk in &plan.chunks {
        prop_assert_eq!(chunk.first_row, next);
        prop_assert!(chunk.rows > 0);
        next += chunk.rows;
        // Every binding within its buffer, the limit and the alignment.
        for (binding, &(offset, size)) in plan.bindings.iter().zip(&chunk.ranges) {
            let buffer = layout.places().map(|(_, p)| p).find(|p| p.buffer == binding.buffer).unwrap();
            prop_assert_eq!(offset % u64::from(caps.storage_alignment), 0);
            prop_assert!(size <= caps.max_binding && size > 0, "{} bytes", size);
            prop_assert!(offset + size <= buffer.size, "{}..{} of {}", offset, offset + size, buffer.size);
            prop_assert_eq!(size % (4 * binding.words), 0);
        }
        // The last element of the chunk lies within the binding of everything that has rows.
        let params = &chunk.params;
        for slot in Slot::ALL.into_iter().filter(|slot| slot.is_by_row()) {
            let Some(dtype) = plan.spec.dtype_of(slot) else { continue };
            let (start, stride) = (params.start(slot), params.stride(slot));
            let index = plan.bindings.iter().position(|b| b.operands.contains(&slot)).unwrap();
            let last = u64::from(start) + (chunk.rows - 1) * u64::from(stride) + plan.spec.length_of(slot);
            prop_assert!(last * dtype.size() <= chunk.ranges[index].1);
            prop_assert!(last <= u64::from(u32::MAX));
        }
        // The grid holds every row, for any number of them, and stays within the limit.
        for rows in [1, chunk.rows / 2 + 1, chunk.rows] {
            let [x, y] = plan.grid(chunk, rows);
            prop_assert!(x >= 1 && y >= 1 && x <= caps.max_workgroups && y <= caps.max_workgroups);
            prop_assert!(u64::from(x) * u64::from(y) * u64::from(plan.rows_per_group()) >= plan.inner_rows(rows));
            prop_assert_eq!(Plan::digits_of(rows).iter().rev().fold(0u64, |n, &d| n * 256 + u64::from(d)), rows);
        }
        // Two writable bindings never overlap: browsers refuse that.
        let writable: Vec<_> = plan.bindings.iter().zip(&chunk.ranges).filter(|(b, _)| b.writable).collect();
        for (i, (a, x)) in writable.iter().enumerate() {
            for (b, y) in &writable[i + 1..] {
                prop_assert!(a.buffer != b.buffer || x.0 + x.1 <= y.0 || y.0 + y.1 <= x.0, "{:?} {:?}", x, y);
            }
        }
    }
    prop_assert_eq!(next, plan.rows);
    no_word_has_two_owners(plan)?;
    every_block_has_room(plan, caps)?;
    words_suit_every_operand(plan)?;
    prop_assert!(plan.workgroup_size() <= caps.max_invocations);
    prop_assert!(plan.width.is_power_of_two() && plan.width <= plan.order.lanes);
    prop_assert!(plan.bindings.len() <= caps.max_storage_buffers as usize);
    // N2, A3: lanes are a power of two, and all of them are someone's.
    prop_assert_eq!(plan.order.lanes / 2 % plan.width, 0);
    Ok(())
}

/// The blocks of a backward pass: each of one chunk, its sums within the scratch buffer, and numbered through.
fn every_block_has_room(plan: &Plan, caps: &Caps) -> Result<(), TestCaseError> {
    let Some(blocks) = &plan.blocks else { return Ok(()) };
    let rows = u64::from(blocks.rows);
    prop_assert!(rows.is_power_of_two() && blocks.leaf.is_power_of_two() && blocks.leaf <= blocks.rows);
    prop_assert_eq!(blocks.count, plan.rows.div_ceil(rows));
    // Either all rows of a block are found before the first strip, or there is but one.
    prop_assert!(blocks.strip >= 1);
    let one_strip = u64::from(blocks.strip) * u64::from(blocks.team) * 8 >= plan.spec.group_length();
    prop_assert!(blocks.batch == blocks.rows || (blocks.batch == 1 && one_strip), "{blocks:?}");
    for chunk in &plan.chunks {
        prop_assert_eq!(chunk.first_row % rows, 0);
        prop_assert_eq!(u64::from(chunk.params.first_block), chunk.first_row / rows);
        // Threads of a workgroup, and the memory that they share.
        prop_assert_eq!(plan.workgroup_size(), blocks.team * plan.rows_at_once);
    }
    let Some(channels) = &blocks.channels else {
        prop_assert_eq!(plan.scratch_bytes(), 0);
        return Ok(());
    };
    let sums = [Slot::GradWeight, Slot::GradBias].into_iter().filter(|slot| plan.spec.dtype_of(*slot).is_some()).count() as u64;
    let octets = plan.spec.group_length().div_ceil(8);
    prop_assert_eq!(plan.scratch_bytes(), (blocks.count * plan.spec.groups * sums * octets * 32).max(32));
    prop_assert!(plan.scratch_bytes() <= caps.max_binding.min(caps.max_buffer));
    // The dispatch that adds them up has a workgroup for every octet of channels and sum.
    let [x, y] = channels.grid.map(u64::from);
    prop_assert!(y.is_multiple_of(sums) && x * (y / sums) * 8 >= plan.spec.length_of(Slot::Weight));
    prop_assert!(x.max(y) <= caps.max_workgroups.into());
    Ok(())
}

/// A1: rows that share a word of the output are in one workgroup, or change it atomically; those that share a 64-bit word, which is not
/// written in parts, are one invocation's.
fn no_word_has_two_owners(plan: &Plan) -> Result<(), TestCaseError> {
    let spec = &plan.spec;
    let size = spec.output_dtype().size();
    let access = plan.access.get(Slot::Output);
    let by_doubles = plan.bindings.iter().any(|b| b.words == 2 && b.operands.contains(&Slot::Output));
    prop_assert_eq!(access == Access::Shifted, matches!(plan.shared_words, SharedWords::InTurns(_)));
    prop_assert!(access != Access::Shifted || plan.is_alone);
    for chunk in plan.chunks.iter().filter(|_| plan.shared_words != SharedWords::Everywhere) {
        let (start, stride) = (u64::from(chunk.params.start(Slot::Output)), u64::from(chunk.params.stride(Slot::Output)));
        let shift = plan.rows_before(chunk);
        if access == Access::Shifted {
            let first = start * size + shift * (8 - spec.group_length() * size % 8);
            let is_shared = matches!(plan.shared_words, SharedWords::InTurns(rows) if rows > 1);
            prop_assert!(!is_shared || first.is_multiple_of(8), "no row before the chunk begins with a word: {:?}", plan);
        }
        let word = if by_doubles { 8 } else { 4 };
        let row_word = |row: u64, element: u64| {
            (start + row / spec.groups * stride + row % spec.groups * spec.group_length() + element) * size / word
        };
        let together = if plan.is_alone { plan.rounds } else { plan.rows_per_group() };
        let owner = |row: u64| (row + shift) / u64::from(together);
        let length = spec.length_of(Slot::Output) / spec.groups;
        for row in 1..plan.inner_rows(chunk.rows).min(40) {
            let shared = row_word(row - 1, length - 1) == row_word(row, 0);
            prop_assert!(!shared || owner(row - 1) == owner(row), "row {} of {:?}", row, plan);
        }
    }
    Ok(())
}

/// Operands that one binding holds agree on its words, and on a device that has no use for 64-bit words there are none.
fn words_suit_every_operand(plan: &Plan) -> Result<(), TestCaseError> {
    for binding in &plan.bindings {
        prop_assert!(binding.words != 2 || plan.caps.long_words);
        for &slot in &binding.operands {
            let suits = match plan.access.get(slot) {
                Access::Element | Access::Word => binding.words == 1,
                Access::Shifted => binding.words == 2,
                Access::Double => binding.words <= 2,
                Access::Wide => true,
            };
            prop_assert!(suits, "{} of {:?}", slot, plan);
        }
    }
    Ok(())
}
