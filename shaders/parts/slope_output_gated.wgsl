// The gradient of the norm's result is that of the output times what the gate opens to, rounded where the result was.
fn opened(d: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    let g = opening(z);
    return opaque(scale_by(d * g.factor, g.exponent));
}

fn norm_gradient(l: Loaded) -> Octet {
    return cast_normed(Octet(opened(l.d[0], l.z[0]), opened(l.d[1], l.z[1])));
}
