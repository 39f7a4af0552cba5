// Codes of 8 bits by a scale of each row: once over the row for its largest element, once for the codes.

@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> scales: array<f32>;
@group(0) @binding(2) var<storage, read_write> codes: array<vec2<u32>>;

fn both(a: f32, b: f32) -> f32 {
    return max(a, b);
}

fn code_word(v: vec4<f32>) -> u32 {
    let codes = vec4<u32>(vec4<i32>(clamp(round(v), vec4<f32>(-127.0), vec4<f32>(127.0)))) & vec4<u32>(0xffu);
    return codes.x | (codes.y << 8u) | (codes.z << 16u) | (codes.w << 24u);
}

@compute @workgroup_size(WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let row = group.x;
    var peaks = vec4<f32>(0.0);
    for (var i = index; i < OCTETS; i += WIDTH) {
        let octet = unpack_octet(x[row * OCTETS + i]);
        peaks = max(peaks, max(abs(octet.low), abs(octet.high)));
    }
    let peak = join(index, max(max(peaks.x, peaks.y), max(peaks.z, peaks.w)));
    let scale = select(1.0, peak / 127.0, peak > 0.0);
    if (index == 0u) {
        scales[row] = scale;
    }
    for (var i = index; i < OCTETS; i += WIDTH) {
        let octet = unpack_octet(x[row * OCTETS + i]);
        codes[row * OCTETS + i] = vec2<u32>(code_word(octet.low / scale), code_word(octet.high / scale));
    }
}
