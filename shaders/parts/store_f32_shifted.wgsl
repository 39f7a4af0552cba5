// The output in f32, two elements in each 64-bit word, octets from any element, in order: the last element of an octet from an odd one
// waits for the next octet, which has the other half of its word.
var<private> waiting: u32;

// Before the first octet of a row, from element e: what is before it keeps its bits.
fn open_output(e: u32) {
    waiting = BUFFER_one(e / 2u * 2u);
}

// An octet behind what waits: four words. Its last element waits then.
struct Doubles {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn doubles_of(e: u32, v: Octet) -> Doubles {
    let low = bitcast<vec4<u32>>(v[0]);
    let high = bitcast<vec4<u32>>(v[1]);
    let odd = (e & 1u) == 1u;
    return Doubles(select(low, vec4<u32>(waiting, low.xyz), odd), select(high, vec4<u32>(low.w, high.xyz), odd));
}

fn store_output(e: u32, v: Octet) {
    let doubles = doubles_of(e, v);
    set_BUFFER_four(e / 2u * 2u, doubles.low);
    set_BUFFER_four(e / 2u * 2u + 4u, doubles.high);
    waiting = bitcast<u32>(v[1].w);
}

// The first `count` elements of an octet that ends with the row.
fn store_output_rest(e: u32, v: Octet, count: u32) {
    let doubles = doubles_of(e, v);
    let i = e / 2u;
    let bits = 32u * (count + (e & 1u));
    set_BUFFER_lower(i, u64(doubles.low.x) | (u64(doubles.low.y) << 32u), bits);
    set_BUFFER_lower(i + 1u, u64(doubles.low.z) | (u64(doubles.low.w) << 32u), max(bits, 64u) - 64u);
    set_BUFFER_lower(i + 2u, u64(doubles.high.x) | (u64(doubles.high.y) << 32u), max(bits, 128u) - 128u);
    set_BUFFER_lower(i + 3u, u64(doubles.high.z) | (u64(doubles.high.w) << 32u), max(bits, 192u) - 192u);
}
