// The output in DTYPE, four elements in each 64-bit word, octets from any element, in order: what of an octet does not fill a word waits
// for the next octet, which has the rest of it.
var<private> waiting: u64;

// Before the first octet of a row, from element e: what is before it keeps its bits.
fn open_output(e: u32) {
    waiting = BUFFER[e / 4u] & ~(~u64(0u) << ((e & 3u) * 16u));
}

// An octet behind what waits: two words, and what then waits.
struct Doubles {
    first: u64,
    second: u64,
    left: u64,
}

fn doubles_of(e: u32, v: Octet) -> Doubles {
    let words = encode_DTYPE(v);
    let low = u64(words.x) | (u64(words.y) << 32u);
    let high = u64(words.z) | (u64(words.w) << 32u);
    let shift = (e & 3u) * 16u;
    // A shift by 64 would be none.
    let after_low = (low >> 1u) >> (63u - shift);
    let after_high = (high >> 1u) >> (63u - shift);
    return Doubles(waiting | (low << shift), after_low | (high << shift), after_high);
}

fn store_output(e: u32, v: Octet) {
    let doubles = doubles_of(e, v);
    BUFFER[e / 4u] = doubles.first;
    BUFFER[e / 4u + 1u] = doubles.second;
    waiting = doubles.left;
}

// The first `count` elements of an octet that ends with the row.
fn store_output_rest(e: u32, v: Octet, count: u32) {
    let doubles = doubles_of(e, v);
    let bits = 16u * (count + (e & 3u));
    set_BUFFER_lower(e / 4u, doubles.first, bits);
    set_BUFFER_lower(e / 4u + 1u, doubles.second, max(bits, 64u) - 64u);
    set_BUFFER_lower(e / 4u + 2u, doubles.left, max(bits, 128u) - 128u);
}
