//! Shapes by the name of what has them.

/// Rows and channels.
pub type Shape = [u64; 2];

/// A shape, or what it follows from where the bytes of an element are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// This.
    Shape(Shape),
    /// As many rows of `hidden` channels as have `bytes`.
    Rows { hidden: u64, bytes: u64 },
    /// `rows` rows of as many channels as have `bytes`.
    Channels { rows: u64, bytes: u64 },
}

impl Size {
    /// The shape for elements of so many bytes.
    pub fn shape(self, element: u64) -> Shape {
        match self {
            Self::Shape(shape) => shape,
            Self::Rows { hidden, bytes } => [bytes / (hidden * element), hidden],
            Self::Channels { rows, bytes } => [rows, bytes / (rows * element)],
        }
    }

    /// Whether it is one of a row of sizes up to what no device need have room for.
    pub fn may_be_too_large(self) -> bool {
        !matches!(self, Self::Shape(_))
    }
}

/// What is to be timed, and which set it is from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    pub set: Option<&'static str>,
    pub size: Size,
}

/// A set of shapes.
struct Set {
    name: &'static str,
    sizes: Sizes,
}

enum Sizes {
    Listed(&'static [Shape]),
    Swept(fn() -> Vec<Size>),
}

/// The set that looks for lengths at which a norm is suddenly slow.
pub const CLIFF: &str = "cliff";
/// The set that looks for sizes at which a norm falls behind the copy.
pub const GROWTH: &str = "growth";

/// All sets: one token of each of up to 64 sequences; a prompt; the heads of a prompt; rows that are few and long; lengths that no
/// vector divides; LLaMA 7B to 70B with a prompt of 512; those that other libraries are timed with; and two sweeps.
const SETS: [Set; 9] = [
    Set {
        name: "decode",
        sizes: Sizes::Listed(&[
            [1, 2048],
            [1, 4096],
            [1, 8192],
            [1, 16_384],
            [8, 2048],
            [8, 4096],
            [8, 8192],
            [8, 16_384],
            [64, 2048],
            [64, 4096],
            [64, 8192],
            [64, 16_384],
        ]),
    },
    Set { name: "prefill", sizes: Sizes::Listed(&[[4096, 4096], [2048, 8192]]) },
    Set { name: "heads", sizes: Sizes::Listed(&[[65_536, 64], [8192, 128], [262_144, 128], [65_536, 256]]) },
    Set { name: "long", sizes: Sizes::Listed(&[[64, 65_536], [4, 262_144]]) },
    Set { name: "odd", sizes: Sizes::Listed(&[[513, 1000], [1023, 4099]]) },
    // 7B, 13B, 33B, and 65B or 70B.
    Set { name: "llama", sizes: Sizes::Listed(&[[512, 4096], [512, 5120], [512, 6656], [512, 8192]]) },
    Set {
        name: "peers",
        sizes: Sizes::Listed(&[[1, 4096], [32, 4096], [4096, 4096], [8192, 128], [2048, 8192], [513, 1000], [64, 65_536]]),
    },
    Set { name: CLIFF, sizes: Sizes::Swept(cliff) },
    Set { name: GROWTH, sizes: Sizes::Swept(growth) },
];

/// Both sides of every power of two from 64 to 65536, and even lengths that no vector divides, in as many rows as make up about
/// 2^20 elements.
fn cliff() -> Vec<Size> {
    const ELEMENTS: u64 = 1 << 20;
    let beside_powers = (6..=16).map(|power| 1u64 << power).flat_map(|power| [power - 1, power, power + 1]);
    let mut lengths: Vec<u64> = beside_powers.chain([66, 1000, 4098]).collect();
    lengths.sort_unstable();
    lengths.into_iter().map(|hidden| Size::Shape([(ELEMENTS + hidden / 2) / hidden, hidden])).collect()
}

/// 1 MiB to 1 GiB of input in doublings: by rows of 4096 channels, then by the length of 1024 rows.
fn growth() -> Vec<Size> {
    let bytes = || (20..=30).map(|power| 1u64 << power);
    let by_rows = bytes().map(|bytes| Size::Rows { hidden: 4096, bytes });
    by_rows.chain(bytes().map(|bytes| Size::Channels { rows: 1024, bytes })).collect()
}

/// What a word stands for: the members of a set, or rows and channels with an x between them.
pub fn parse(text: &str) -> Result<Vec<Member>, String> {
    if let Some(Set { name, sizes }) = SETS.iter().find(|set| set.name == text) {
        let sizes = match sizes {
            Sizes::Listed(shapes) => shapes.iter().map(|&shape| Size::Shape(shape)).collect(),
            Sizes::Swept(sweep) => sweep(),
        };
        return Ok(sizes.into_iter().map(|size| Member { set: Some(*name), size }).collect());
    }
    let numbers: Vec<Option<u64>> = text.split('x').map(|number| number.parse().ok().filter(|&number| number > 0)).collect();
    match numbers[..] {
        [Some(rows), Some(hidden)] => Ok(vec![Member { set: None, size: Size::Shape([rows, hidden]) }]),
        _ => {
            let names: Vec<_> = SETS.iter().map(|set| set.name).collect();
            Err(format!("expected ROWSxCHANNELS, such as 512x4096, or one of {}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str, element: u64) -> Vec<Shape> {
        parse(text).unwrap().into_iter().map(|member| member.size.shape(element)).collect()
    }

    #[test]
    fn shapes_have_names_and_numbers() {
        assert_eq!(shapes("3x40", 4), [[3, 40]]);
        assert_eq!(shapes("prefill", 2), [[4096, 4096], [2048, 8192]]);
        for wrong in ["", "3", "0x4", "3x4x5", "ax4", "prompt"] {
            assert!(parse(wrong).unwrap_err().contains("512x4096"), "{wrong}");
        }
    }

    #[test]
    fn cliff_has_about_as_many_elements_everywhere() {
        let shapes = shapes("cliff", 4);
        for [rows, hidden] in [[16_384, 64], [16_132, 65], [8257, 127], [256, 4097], [16, 65_537]] {
            assert!(shapes.contains(&[rows, hidden]), "{rows}x{hidden}");
        }
        assert!(shapes.iter().all(|[rows, hidden]| (rows * hidden).abs_diff(1 << 20) <= hidden / 2 + 1));
    }

    #[test]
    fn growth_is_of_bytes_and_not_of_elements() {
        for element in [2, 4] {
            let shapes = shapes("growth", element);
            assert_eq!(shapes.len(), 22);
            let bytes: Vec<u64> = shapes.iter().map(|[rows, hidden]| rows * hidden * element).collect();
            assert_eq!((bytes[0], bytes[10], bytes[11], bytes[21]), (1 << 20, 1 << 30, 1 << 20, 1 << 30));
            assert_eq!(shapes[0], [256 / element, 4096]);
            assert_eq!(shapes[21], [1024, (1 << 20) / element]);
        }
    }
}
