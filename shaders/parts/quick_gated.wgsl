// The input times what the gate opens to, infinite where that is rare.
fn quick_four(x: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    let g = opening(z);
    let infinite = bitcast<vec4<f32>>(vec4<u32>(0x7f800000u | params.zero));
    return select(plain_product(x, g), infinite, is_rare_product(x, z, g));
}
