// The scale is made of the first SUMMED elements alone. Those behind them may be so far beyond it that x̂, or its product with g, is: then
// the row is taken apart.
fn far_bits(g: Octet, x: Octet) -> u32 {
    let far = max(largest_bits(x), largest_bits(products_of(g, x)));
    return select(0u, SLOPE_LARGEST, far >= SLOPE_LARGEST);
}

// What the mean of g · x̂ is taken off along: zeros behind the first SUMMED elements.
fn summed_part(n: Octet, o: u32) -> Octet {
    let low = vec4<u32>(o * 8u) + vec4<u32>(0u, 1u, 2u, 3u);
    let none = vec4<f32>(0.0);
    return Octet(
        select(none, n[0], low < vec4<u32>(SUMMED)),
        select(none, n[1], low + vec4<u32>(4u) < vec4<u32>(SUMMED)),
    );
}
