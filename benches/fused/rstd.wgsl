// The scale of each row, 1/sqrt(mean(x²) + eps).

@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> scales: array<f32>;

fn both(a: f32, b: f32) -> f32 {
    return a + b;
}

@compute @workgroup_size(WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let row = group.x;
    var squares = vec4<f32>(0.0);
    for (var i = index; i < OCTETS; i += WIDTH) {
        let octet = unpack_octet(x[row * OCTETS + i]);
        squares += octet.low * octet.low + octet.high * octet.high;
    }
    let sum = join(index, squares.x + squares.y + squares.z + squares.w);
    if (index == 0u) {
        scales[row] = inverseSqrt(sum / f32(OCTETS * 8u) + EPS);
    }
}
