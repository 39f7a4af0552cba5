// Elements i .. i + count of a row, 1 to 7: what is read, what goes before and after, factors and summands. What is behind them
// is of no use.
struct Rest {
    x: Octet,
    p: Octet,
    q: Octet,
    w: Octet,
    b: Octet,
}

fn rest_at(row: Row, i: u32, count: u32) -> Rest {
    let none = vec4<f32>(0.0);
    var x = Octet(none, none);
    var p = Octet(none, none);
    var q = Octet(none, none);
    var w = Octet(none, none);
    var b = Octet(none, none);
    for (var k = 0u; k < count; k++) {
        let low = vec4<u32>(k) == vec4<u32>(0u, 1u, 2u, 3u);
        let high = vec4<u32>(k) == vec4<u32>(4u, 5u, 6u, 7u);
        let x_k = vec4<f32>(load_input_one(row.input + i + k));
        let p_k = vec4<f32>(before_one(row, i + k));
        let q_k = vec4<f32>(after_one(row, i + k));
        let w_k = offset_weight(vec4<f32>(load_weight_one(params.weight_start + row.weight + i + k)));
        let b_k = vec4<f32>(load_bias_one(params.bias_start + row.weight + i + k));
        x = Octet(select(x[0], x_k, low), select(x[1], x_k, high));
        p = Octet(select(p[0], p_k, low), select(p[1], p_k, high));
        q = Octet(select(q[0], q_k, low), select(q[1], q_k, high));
        w = Octet(select(w[0], w_k, low), select(w[1], w_k, high));
        b = Octet(select(b[0], b_k, low), select(b[1], b_k, high));
    }
    return Rest(x, p, q, w, b);
}

fn finish_rest(rest: Rest, scale: Scale) -> Octet {
    if (scale.rescued) {
        return finish_rescued(split_of(rest.x, rest.p), rest.w, rest.b, rest.q, scale);
    }
    return finish(value_of(rest.x, rest.p), rest.w, rest.b, rest.q, scale);
}
