//! Files of shaders without their comments, at compile time: for browsers, where every byte is fetched.

/// How much of a text is no comment. (WGSL has no strings: `//` is always one.)
pub(super) const fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut kept) = (0, 0);
    while at < bytes.len() {
        at = behind_comment(bytes, at);
        if at < bytes.len() {
            (at, kept) = (at + 1, kept + 1);
        }
    }
    kept
}

/// What of a text is no comment.
pub(super) const fn bytes<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let bytes = text.as_bytes();
    let mut bare = [0; LENGTH];
    let (mut at, mut kept) = (0, 0);
    while kept < LENGTH {
        at = behind_comment(bytes, at);
        bare[kept] = bytes[at];
        (at, kept) = (at + 1, kept + 1);
    }
    bare
}

/// The text that is left. A comment begins and ends between characters.
pub(super) const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a comment begins and ends between characters"),
    }
}

/// Where what is no comment goes on.
const fn behind_comment(bytes: &[u8], mut at: usize) -> usize {
    if at + 1 < bytes.len() && bytes[at] == b'/' && bytes[at + 1] == b'/' {
        while at < bytes.len() && bytes[at] != b'\n' {
            at += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_all_else_stays() {
        const TEXT: &str = "// x²\nlet a = b / c; // why\n//\n  d\n// end";
        assert_eq!(text(&bytes::<{ length(TEXT) }>(TEXT)), "\nlet a = b / c; \n\n  d\n");
        assert_eq!(text(&bytes::<{ length("") }>("")), "");
    }
}
