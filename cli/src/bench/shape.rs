//! Shapes by the name of what has them.

/// Rows and channels.
pub type Shape = [u64; 2];

/// A set of shapes.
pub struct Set {
    pub name: &'static str,
    pub shapes: &'static [Shape],
}

/// All sets: one token of each of up to 64 sequences; a prompt; the heads of a prompt; rows that are few and long; lengths that no
/// vector divides; LLaMA 7B to 65B with a prompt of 512; and those that other libraries are timed with.
pub const SETS: [Set; 7] = [
    Set {
        name: "decode",
        shapes: &[
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
        ],
    },
    Set { name: "prefill", shapes: &[[4096, 4096], [2048, 8192]] },
    Set { name: "heads", shapes: &[[65_536, 64], [8192, 128], [262_144, 128], [65_536, 256]] },
    Set { name: "long", shapes: &[[64, 65_536], [4, 262_144]] },
    Set { name: "odd", shapes: &[[513, 1000], [1023, 4099]] },
    Set { name: "llama", shapes: &[[512, 4096], [512, 5120], [512, 6656], [512, 8192]] },
    Set { name: "peers", shapes: &[[1, 4096], [32, 4096], [4096, 4096], [8192, 128], [2048, 8192], [513, 1000], [64, 65_536]] },
];

/// The shapes that a word stands for: a set's name, or rows and channels with an x between them.
pub fn parse(text: &str) -> Result<Vec<Shape>, String> {
    if let Some(set) = SETS.iter().find(|set| set.name == text) {
        return Ok(set.shapes.to_vec());
    }
    let numbers: Vec<Option<u64>> = text.split('x').map(|number| number.parse().ok().filter(|&number| number > 0)).collect();
    match numbers[..] {
        [Some(rows), Some(hidden)] => Ok(vec![[rows, hidden]]),
        _ => Err(format!("expected ROWSxCHANNELS, such as 512x4096, or one of {}", SETS.map(|set| set.name).join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_names_and_numbers() {
        assert_eq!(parse("3x40").unwrap(), [[3, 40]]);
        assert_eq!(parse("prefill").unwrap(), [[4096, 4096], [2048, 8192]]);
        for wrong in ["", "3", "0x4", "3x4x5", "ax4", "prompt"] {
            assert!(parse(wrong).unwrap_err().contains("512x4096"), "{wrong}");
        }
    }
}
