// The largest |y| behind the last whole octet.
fn top_of_rest(invocation: u32, row: Row, scale: Scale) -> u32 {
    if (invocation != 0u) {
        return 0u;
    }
    let count = HIDDEN % 8u;
    let y = finish_rest(rest_at(row, HIDDEN - count, count), scale);
    let low = vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(count);
    let high = vec4<u32>(4u, 5u, 6u, 7u) < vec4<u32>(count);
    let none = vec4<f32>(0.0);
    return top_of(Octet(select(none, y[0], low), select(none, y[1], high)));
}
