// The result times what the gate opens to, in f32.
fn gate_four(y: vec4<f32>, n: vec4<f32>, w: vec4<f32>, b: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    let g = opening(z);
    let plain = opaque(y) * (g.factor * power_of_two(max(g.exponent, vec4<i32>(-126))));
    // Where one of the two leaves the range of f32, or is close, their product need not.
    let size = magnitude_bits(y) - vec4<u32>(0x0d800000u);
    let of_gate = magnitude_bits(z) - vec4<u32>(0x01000000u);
    let rare = (size >= vec4<u32>(0x64000000u)) | (of_gate >= vec4<u32>(0x70800000u)) | (g.exponent < vec4<i32>(-80));
    if (!any(rare)) {
        return plain;
    }
    return select(plain, gate_apart(y, n, w, b, z), rare);
}

fn after(y: Octet, n: Octet, w: Octet, b: Octet, q: Octet, scale: Scale) -> Octet {
    let v = cast_normed(y);
    return quantized(Octet(gate_four(v[0], n[0], w[0], b[0], q[0]), gate_four(v[1], n[1], w[1], b[1], q[1])), scale);
}
