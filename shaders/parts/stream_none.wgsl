// Nothing comes back along a residual stream.
fn summed_with(grad: Octet, s: Octet) -> Octet {
    return grad;
}
