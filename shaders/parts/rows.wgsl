// Where the operands lie, and the numbers of the norm. Starts are elements from the start of the binding, strides are elements.
struct Params {
    input_start: u32,
    input_stride: u32,
    output_start: u32,
    output_stride: u32,
    weight_start: u32,
    bias_start: u32,
    residual_start: u32,
    residual_stride: u32,
    residual_out_start: u32,
    residual_out_stride: u32,
    eps: f32,          // for ordinary rows
    eps_fraction: f32, // eps = fraction * 2^exponent, for rescued ones
    eps_exponent: i32,
    weight_offset: f32,
    zero: u32, // always 0: see opaque.wgsl
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
