// The first sweep finds the largest |x · w| too: times the scale, which is positive, it is the row's largest result.
var<private> noted_top: u32;

fn note_octet(row: Row, o: u32, x: Octet) {
    let i = o * 8u;
    if (i + 8u <= HIDDEN) {
        let w = weight_at(row, i);
        noted_top = max(noted_top, top_of(Octet(x[0] * w[0], x[1] * w[1])));
    } else {
        for (var k = i; k < HIDDEN; k++) {
            let w = offset_weight(vec4<f32>(load_weight_one(params.weight_start + row.weight + k))).x;
            let low = select(select(x[0].x, x[0].y, k == i + 1u), select(x[0].z, x[0].w, k == i + 3u), k >= i + 2u);
            let high = select(select(x[1].x, x[1].y, k == i + 5u), select(x[1].z, x[1].w, k == i + 7u), k >= i + 6u);
            noted_top = max(noted_top, bitcast<u32>(select(low, high, k >= i + 4u) * w) & 0x7fffffffu);
        }
    }
}
