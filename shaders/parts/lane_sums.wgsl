// Octet o of what a row sums, with zeros behind the end.
fn octet_or_zero(row: Row, o: u32) -> Octet {
    if (o < SUMMED_OCTETS) {
        return value_at(row, o * 8u);
    }
    if (o < OCTETS) {
        let rest = rest_octets(row);
        return value_of(rest.x, rest.p);
    }
    return Octet(vec4<f32>(0.0), vec4<f32>(0.0));
}

// The same as fractions and exponents.
fn split_or_zero(row: Row, o: u32) -> Split {
    if (o < SUMMED_OCTETS) {
        return split_at(row, o * 8u);
    }
    if (o < OCTETS) {
        let rest = rest_octets(row);
        return split_of(rest.x, rest.p);
    }
    return split(Octet(vec4<f32>(0.0), vec4<f32>(0.0)));
}

// What is loaded behind the last whole octet, zeros behind the end.
struct RestOctets {
    x: Octet,
    p: Octet,
}
