// A workgroup works on a row, and joins what its invocations found.

const WIDTH = 128u;

var<workgroup> found: array<f32, WIDTH>;

fn join(index: u32, mine: f32) -> f32 {
    found[index] = mine;
    workgroupBarrier();
    for (var half = WIDTH / 2u; half > 0u; half /= 2u) {
        if (index < half) {
            found[index] = both(found[index], found[index + half]);
        }
        workgroupBarrier();
    }
    return found[0];
}
