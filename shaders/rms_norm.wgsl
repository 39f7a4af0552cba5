// RMSNorm
//
// Formula   y = round(x / sqrt(mean(x²) + eps) · (w + offset) + b), for every row (every group of a row) of HIDDEN elements.
//           x is the input, its sum with a residual or its product with a gate (parts/value_*); a residual or a gate may follow
//           y instead (parts/after_*).
//
// Bindings  0: params, where the operands lie. 1..: the number of rows in base-256 digits, by dynamic offset.
//           Then the operands as 32-bit words, each decoded by its own load function; an absent one loads a constant.
//
// Grid      WIDTH invocations work on a row, ROWS_AT_ONCE rows at the same time, ROUNDS times. Workgroups fold over two axes;
//           those beyond the last row end at once.
//
// Work      1. Every lane adds the squares of its quads (square_sums), the lanes join in workgroup memory (join_lanes).
//           2. One scale a row: 1/sqrt of mean plus eps.
//           3. The row is read again, scaled, weighted, rounded and written (parts/write_rows.wgsl).
//           Rows whose plain sum of squares overflowed or lost bits are rescued in between (parts/range.wgsl): a vote of the
//           workgroup keeps the barriers in there uniform.
//
// Numerics  f32 throughout. The order of summation is fixed (src/plan/order.rs). The scale is all but correctly rounded
//           (parts/root.wgsl). What compilers might fuse or simplify is kept as written (parts/opaque.wgsl). Rounding to half
//           types is integer arithmetic.

// The scale of a row. Called by all invocations of a workgroup.
fn row_scale(slot: u32, invocation: u32, row: Row) -> Scale {
    return scale_of_squares(slot, invocation, row, plain_sum(slot, invocation, row));
}

fn scale_of_squares(slot: u32, invocation: u32, row: Row, squares: f32) -> Scale {
    let mean = mean_of(squares, params.eps);
    let needed = needs_rescue(squares, mean.high);
    var scale = ordinary_scale(inverse_root(mean));
    if (any_rescue(slot, invocation, needed && row.present)) {
        let rescued = rescued_scale(rescued_sum(slot, invocation, row));
        if (needed) {
            scale = rescued;
        }
    }
    return scale;
}
