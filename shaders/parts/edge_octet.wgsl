// Elements i .. i + count of a row (fewer than eight), finished; what is behind them is of no use.
fn finished_rest(input: u32, i: u32, count: u32, scale: Scale) -> Octet {
    var x = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
    var w = x;
    var b = x;
    let last = count - 1u;
    for (var k = 0u; k < 7u; k++) {
        let at = i + min(k, last);
        let place = vec4<bool>(k % 4u == 0u, k % 4u == 1u, k % 4u == 2u, k % 4u == 3u);
        let low = place & vec4<bool>(k < 4u);
        let high = place & vec4<bool>(k >= 4u);
        let x_k = vec4<f32>(load_input_one(input + at));
        let w_k = offset_weight(vec4<f32>(load_weight_one(params.weight_start + at)));
        let b_k = vec4<f32>(load_bias_one(params.bias_start + at));
        x = Octet(select(x[0], x_k, low), select(x[1], x_k, high));
        w = Octet(select(w[0], w_k, low), select(w[1], w_k, high));
        b = Octet(select(b[0], b_k, low), select(b[1], b_k, high));
    }
    return finish_any(x, w, b, scale);
}
