// The scale of a row is kept, in f32.
fn keep_rstd(row: Row, invocation: u32, scale: Scale) {
    if (invocation == 0u && row.present) {
        let rescued = scale_by(vec4<f32>(scale.factor), vec4<i32>(-scale.exponent)).x;
        set_BUFFER_one(row.rstd, bitcast<u32>(select(scale.factor, rescued, scale.rescued)));
    }
}
