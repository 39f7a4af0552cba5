// The scale is made of the first SUMMED elements alone: zeros behind them.
fn summed_part(n: Octet, o: u32) -> Octet {
    let low = vec4<u32>(o * 8u) + vec4<u32>(0u, 1u, 2u, 3u);
    let none = vec4<f32>(0.0);
    return Octet(
        select(none, n[0], low < vec4<u32>(SUMMED)),
        select(none, n[1], low + vec4<u32>(4u) < vec4<u32>(SUMMED)),
    );
}
