// The first sweep finds nothing but sums: a row's largest result is no multiple of its largest x · w.
var<private> noted_top: u32;

fn note_octet(row: Row, o: u32, x: Octet) {
}
