// All elements are part of the statistic, so that none is far beyond its scale.
fn is_far(n: Octet) -> bool {
    return false;
}
