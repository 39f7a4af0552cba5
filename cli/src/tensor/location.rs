//! Which tensor of which file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::output::harmless;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// NumPy's: one array a file.
    Npy,
    /// Hugging Face's: named tensors.
    Safetensors,
}

/// A file, and a tensor in it: `FILE.npy`, `FILE.safetensors` or `FILE.safetensors:TENSOR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// Its format, by the end of its name.
    pub format: Format,
    /// The tensor's name, where one is given.
    pub tensor: Option<String>,
}

const NAMED: &str = ".safetensors:";

impl FromStr for Location {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let location = |file: &str, format, tensor: Option<&str>| {
            Ok(Location { file: file.into(), format, tensor: tensor.map(str::to_owned) })
        };
        if let Some(at) = lower.find(NAMED) {
            let (file, tensor) = (&text[..at + NAMED.len() - 1], &text[at + NAMED.len()..]);
            return if tensor.is_empty() {
                Err("there is no tensor's name after the colon".into())
            } else {
                location(file, Format::Safetensors, Some(tensor))
            };
        }
        match () {
            () if lower.ends_with(".safetensors") => location(text, Format::Safetensors, None),
            () if lower.ends_with(".npy") => location(text, Format::Npy, None),
            () => {
                Err("expected FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR; numpy.save and safetensors write such files"
                    .into())
            }
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tensor {
            None => f.write_str(&harmless(self.file.display())),
            Some(tensor) => f.write_str(&harmless(format_args!("{}:{tensor}", self.file.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_names_a_tensor_of_safetensors_alone() {
        let parse = |text: &str| text.parse::<Location>().map(|l| (l.file.display().to_string(), l.format, l.tensor));
        assert_eq!(parse("x.npy"), Ok(("x.npy".into(), Format::Npy, None)));
        assert_eq!(parse(r"C:\x.NPY"), Ok((r"C:\x.NPY".into(), Format::Npy, None)));
        assert_eq!(parse("m.safetensors"), Ok(("m.safetensors".into(), Format::Safetensors, None)));
        assert_eq!(parse(r"C:\m.safetensors:a:b"), Ok((r"C:\m.safetensors".into(), Format::Safetensors, Some("a:b".into()))));
        for wrong in ["", "x", "x.npz", "x.npy:a", "m.safetensors:", "x.bin:.npy "] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
