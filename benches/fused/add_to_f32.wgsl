// s += x for an f32 stream and halves: 16 bytes of x at a time.

@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> s: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= arrayLength(&x)) {
        return;
    }
    let octet = unpack_octet(x[i]);
    s[2u * i] += octet.low;
    s[2u * i + 1u] += octet.high;
}
