// Elements that are no part of the statistic may be so far beyond its scale that x · r overflows, where x · r · w does not.
fn is_far(n: Octet) -> bool {
    let far = vec4<u32>(0x71800000u);
    return any(magnitude_bits(n[0]) >= far) || any(magnitude_bits(n[1]) >= far);
}
