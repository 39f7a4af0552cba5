// y = x · silu(z), all halves: 16 bytes at a time.

@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> z: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<u32>>;

fn silu(v: vec4<f32>) -> vec4<f32> {
    return v / (1.0 + exp(-v));
}

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= arrayLength(&x)) {
        return;
    }
    let a = unpack_octet(x[i]);
    let gate = unpack_octet(z[i]);
    y[i] = pack_octet(Octet(a.low * silu(gate.low), a.high * silu(gate.high)));
}
