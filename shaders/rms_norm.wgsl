// RMSNorm
//
// Formula   y = round(x / sqrt(mean(x²) + eps) · (w + offset) + b), for every row of HIDDEN elements. x is the input, or its sum with a
//           residual, which is written back too (parts/value_*); a residual may be added to y instead (parts/after_*).
//
// Bindings  0: params, where the operands lie. 1..: the number of rows in base-256 digits, by dynamic offset.
//           Then the operands as 32-bit words, each decoded by its own load function; an absent one loads a constant.
//
// Grid      WIDTH invocations work on a row, ROWS_AT_ONCE rows at the same time, ROUNDS times. Workgroups fold over two axes;
//           those beyond the last row end at once.
//
// Work      1. Every lane adds the squares of its quads (lane_sums), the lanes join in workgroup memory (join_lanes).
//           2. One scale a row: 1/sqrt of mean plus eps.
//           3. The row is read again, scaled, weighted, rounded and written.
//           Rows whose plain sum of squares overflowed or lost bits are rescued in between (parts/range.wgsl): a vote of the
//           workgroup keeps the barriers in there uniform.
//
// Numerics  f32 throughout. The order of summation is fixed (src/plan/order.rs). The scale is all but correctly rounded
//           (parts/root.wgsl). What compilers might fuse or simplify is kept as written (parts/opaque.wgsl). Rounding to half types
//           is integer arithmetic.

// For every row at once: a pair of sums (of two neighbouring lanes) for each octet lane.
var<workgroup> lane_pairs: array<vec2<f32>, LANE_PAIRS>;
// For every row at once: whether it needs the rescue. And whether any does.
var<workgroup> rescue_row: array<u32, ROWS_AT_ONCE>;
var<workgroup> rescue_any: u32;

// Where a row begins in the bindings, in elements.
struct Row {
    input: u32,
    residual: u32,
    residual_out: u32,
    output: u32,
    number: u32,   // within the chunk
    present: bool, // false behind the last row, and before the first
}

fn row_at(number: u32, rows: u32) -> Row {
    let present = number < rows;
    // An absent row reads the first one, which exists, and writes nothing.
    let safe = select(0u, number, present);
    return Row(
        params.input_start + safe * params.input_stride,
        params.residual_start + safe * params.residual_stride,
        params.residual_out_start + safe * params.residual_out_stride,
        params.output_start + safe * params.output_stride,
        number,
        present,
    );
}

// Elements i .. i + 8 of what is normalised.
fn value_at(row: Row, i: u32) -> Octet {
    return value_of(load_input(row.input + i), residual_before(row, i));
}

fn component_sum(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

fn keep_pair(slot: u32, lane: u32, sums: Octet) {
    lane_pairs[slot * SLOT_PAIRS + lane] = vec2<f32>(component_sum(sums[0]), component_sum(sums[1]));
}

// Joins the lanes of a row by halving: v with v + L/2, then L/4, down to 1. Called by all invocations, after keep_pair.
fn join_lanes(slot: u32, invocation: u32) -> f32 {
    let first = slot * SLOT_PAIRS;
    if (OCTET_LANES < 8u && invocation == 0u) {
        for (var i = OCTET_LANES; i < 8u; i++) {
            lane_pairs[first + i] = vec2<f32>(0.0);
        }
    }
    workgroupBarrier();
    for (var half = OCTET_LANES / 2u; half >= 8u; half /= 2u) {
        for (var i = invocation; i < half; i += WIDTH) {
            lane_pairs[first + i] += lane_pairs[first + i + half];
        }
        workgroupBarrier();
    }
    // The last eight are joined by every invocation for itself: cheaper than three more barriers and a broadcast.
    let four_0 = lane_pairs[first] + lane_pairs[first + 4u];
    let four_1 = lane_pairs[first + 1u] + lane_pairs[first + 5u];
    let four_2 = lane_pairs[first + 2u] + lane_pairs[first + 6u];
    let four_3 = lane_pairs[first + 3u] + lane_pairs[first + 7u];
    let pair = (four_0 + four_2) + (four_1 + four_3);
    return pair.x + pair.y;
}

// Elements first .. first + 8 of an ordinary row.
fn finish(x: Octet, w: Octet, b: Octet, scale: f32) -> Octet {
    let n = cast_normalized(Octet(x[0] * scale, x[1] * scale));
    return add_bias(Octet(n[0] * w[0], n[1] * w[1]), w, n, b);
}


@compute @workgroup_size(WORKGROUP_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    let rows = row_count();
    let shift = pair_shift();
    let first = (group.y * grid.x + group.x) * (ROWS_AT_ONCE * ROUNDS);
    if (first >= rows + shift) {
        return;
    }
    let slot = index / WIDTH;
    let invocation = index % WIDTH;
    var before = Scale(0.0, 0, false);

    for (var turn = 0u; turn < ROUNDS; turn++) {
        let number = first + turn * ROWS_AT_ONCE;
        if (number >= rows + shift) {
            break;
        }
        // With a shift, the first number wraps: that row is absent.
        let row = row_at(number + slot - shift, rows);

        for (var lane = invocation; lane < OCTET_LANES; lane += WIDTH) {
            keep_pair(slot, lane, lane_sums(row, lane));
        }
        let squares = join_lanes(slot, invocation);
        let mean = mean_of(squares, params.eps);
        var scale = Scale(inverse_root(mean), 0, needs_rescue(squares, mean.high));

        if (invocation == 0u) {
            rescue_row[slot] = u32(scale.rescued && row.present);
        }
        workgroupBarrier();
        if (index == 0u) {
            var any = 0u;
            for (var i = 0u; i < ROWS_AT_ONCE; i++) {
                any |= rescue_row[i];
            }
            rescue_any = any;
        }
        let rescue = workgroupUniformLoad(&rescue_any);
        if (rescue != 0u) {
            let rescued = rescued_scale(slot, invocation, row);
            if (scale.rescued) {
                scale = rescued;
            }
        }

        let lead = lead_of(row);
        let units = select(0u, (HIDDEN - lead) / 8u, row.present);
        if (!scale.rescued) {
            for (var step = 0u; step < OUTPUT_STEPS; step++) {
                let unit = step * WIDTH + invocation;
                if (unit < units) {
                    let i = lead + unit * 8u;
                    let x = value_at(row, i);
                    keep_value(row, i, x);
                    let y = finish(x, weight_at(i), bias_at(i), scale.factor);
                    store_output(row.output + i, after(y, residual_after(row, i)));
                }
            }
        } else {
            for (var step = 0u; step < OUTPUT_STEPS; step++) {
                let unit = step * WIDTH + invocation;
                if (unit < units) {
                    let i = lead + unit * 8u;
                    let x = value_at(row, i);
                    keep_value(row, i, x);
                    let y = finish_rescued(x, weight_at(i), bias_at(i), scale);
                    store_output(row.output + i, after(y, residual_after(row, i)));
                }
            }
        }
        store_edges(row, rows, lead, invocation, scale, before);
        before = scale;
        // The next turn writes the workgroup memory that this one read.
        workgroupBarrier();
    }
}
