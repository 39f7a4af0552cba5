// Where the operands lie, and the numbers of the norm. Starts are elements from the start of the binding, strides are elements.
struct Params {
    input_start: u32,
    input_stride: u32,
    weight_start: u32,
    weight_stride: u32,
    bias_start: u32,
    bias_stride: u32,
    residual_start: u32,
    residual_stride: u32,
    gate_start: u32,
    gate_stride: u32,
    statistics_start: u32,
    statistics_stride: u32,
    saved_rstd_start: u32,
    saved_rstd_stride: u32,
    grad_output_start: u32,
    grad_output_stride: u32,
    grad_residual_out_start: u32,
    grad_residual_out_stride: u32,
    residual_out_start: u32,
    residual_out_stride: u32,
    rstd_start: u32,
    rstd_stride: u32,
    scale_start: u32,
    scale_stride: u32,
    grad_gate_start: u32,
    grad_gate_stride: u32,
    grad_weight_start: u32,
    grad_weight_stride: u32,
    grad_bias_start: u32,
    grad_bias_stride: u32,
    output_start: u32,
    output_stride: u32,
    eps: f32,          // for ordinary rows
    eps_fraction: f32, // eps = fraction * 2^exponent, for rescued ones
    eps_exponent: i32,
    weight_offset: f32,
    scale: f32, // of quantised output, where it is one for all rows
    zero: u32,  // always 0: see opaque.wgsl
    first_block: u32, // of a backward pass: the number of the chunk's first block of rows
    padding: u32,
}

// One digit of the number of rows. The host keeps one table of 0 .. 255 and picks entries by dynamic offset, so that a
// recording needs neither a buffer nor a bind group of its own.
struct Digit {
    value: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}

// Where a row begins in the bindings, in elements. A group of a row counts as a row of its own.
struct Row {
    input: u32,
    residual: u32,
    gate: u32,
    statistics: u32,
    saved_rstd: u32,
    grad_output: u32,
    grad_residual_out: u32,
    residual_out: u32,
    rstd: u32,
    scale: u32,
    grad_gate: u32,
    output: u32,
    weight: u32,   // the first of its factors, and of its summands
    number: u32,   // within the chunk
    present: bool, // false behind the last row, and before the first
}

fn row_at(number: u32, rows: u32) -> Row {
    let present = number < rows;
    // An absent row reads the first one, which exists, and writes nothing.
    let safe = select(0u, number, present);
    let token = safe / GROUPS;
    let group = safe % GROUPS;
    let channel = group * HIDDEN;
    return Row(
        params.input_start + token * params.input_stride + channel,
        params.residual_start + token * params.residual_stride + channel,
        params.gate_start + token * params.gate_stride + channel,
        params.statistics_start + token * params.statistics_stride,
        params.saved_rstd_start + token * params.saved_rstd_stride + group,
        params.grad_output_start + token * params.grad_output_stride + channel,
        params.grad_residual_out_start + token * params.grad_residual_out_stride + channel,
        params.residual_out_start + token * params.residual_out_stride + channel,
        params.rstd_start + token * params.rstd_stride + group,
        params.scale_start + token * params.scale_stride + group,
        params.grad_gate_start + token * params.grad_gate_stride + channel,
        params.output_start + token * params.output_stride + channel,
        weight_of_group(group),
        number,
        present,
    );
}

// The piece of the row that this workgroup sums or writes, where several share one.
var<private> piece: u32;
