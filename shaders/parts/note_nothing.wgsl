// The first sweep finds nothing but sums.
fn note_octet(row: Row, o: u32, x: Octet) {
}
