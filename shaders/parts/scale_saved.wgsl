// The scale of a row as the forward pass saved it. One that f32 may not hold well (beyond 2^100, below 2^-100) is found again: so are
// all of the rows that the workgroup has at the same time, for there are barriers in there.
fn scale_of(slot: u32, invocation: u32, row: Row) -> Scale {
    let saved = load_saved_rstd_one(row.saved_rstd);
    let bits = bitcast<u32>(saved);
    let trusted = bits >= 0x0d800000u && bits < 0x71800000u;
    var scale = ordinary_scale(saved);
    if (any_rescue(slot, invocation, !trusted && row.present)) {
        let found = row_scale(slot, invocation, row);
        if (!trusted) {
            scale = found;
        }
    }
    return scale;
}
