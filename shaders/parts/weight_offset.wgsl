fn offset_weight(w: vec4<f32>) -> vec4<f32> {
    return w + vec4<f32>(params.weight_offset);
}
