// s += x, both halves: 16 bytes at a time.

@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> s: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= arrayLength(&x)) {
        return;
    }
    let a = unpack_octet(s[i]);
    let b = unpack_octet(x[i]);
    s[i] = pack_octet(Octet(a.low + b.low, a.high + b.high));
}
