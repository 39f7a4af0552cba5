// Elements i .. i + count of a row, 1 to 7: what is normalised, what is added, its factors and summands. What is behind them is of no use.
struct Rest {
    x: Octet,
    r: Octet,
    w: Octet,
    b: Octet,
}

fn rest_at(row: Row, i: u32, count: u32) -> Rest {
    let none = vec4<f32>(0.0);
    var x = Octet(none, none);
    var r = Octet(none, none);
    var w = Octet(none, none);
    var b = Octet(none, none);
    for (var k = 0u; k < count; k++) {
        let low = vec4<u32>(k) == vec4<u32>(0u, 1u, 2u, 3u);
        let high = vec4<u32>(k) == vec4<u32>(4u, 5u, 6u, 7u);
        let x_k = vec4<f32>(load_input_one(row.input + i + k));
        let r_k = vec4<f32>(load_residual_one(row.residual + i + k));
        let w_k = offset_weight(vec4<f32>(load_weight_one(params.weight_start + i + k)));
        let b_k = vec4<f32>(load_bias_one(params.bias_start + i + k));
        x = Octet(select(x[0], x_k, low), select(x[1], x_k, high));
        r = Octet(select(r[0], r_k, low), select(r[1], r_k, high));
        w = Octet(select(w[0], w_k, low), select(w[1], w_k, high));
        b = Octet(select(b[0], b_k, low), select(b[1], b_k, high));
    }
    return Rest(value_of(x, r), r, w, b);
}

fn finish_rest(rest: Rest, scale: Scale) -> Octet {
    if (scale.rescued) {
        return after(finish_rescued(rest.x, rest.w, rest.b, scale), rest.r);
    }
    return after(finish(rest.x, rest.w, rest.b, scale.factor), rest.r);
}
