//! The header of a `.npy` file, as numpy.lib.format describes it: a Python dictionary behind a few fixed bytes. The elements
//! behind it are read and written as bytes. (Packages that read .npy files multiply a shape's dimensions unchecked, and panic.)

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use wgpu_rmsnorm::DType;

use super::Stored;
use super::literal::{Literal, dictionary};
use crate::failure::Failure;

/// NumPy itself reads no longer header unless it is told to.
const MOST_HEADER: u64 = 10_000;

/// Bytes before the dictionary in version 1.0.
const PREFIX: usize = 10;

const SAVE_AGAIN: &str = "save it again: numpy.save(file, numpy.ascontiguousarray(x, dtype='float32'))";

/// What a header says.
#[derive(Debug)]
pub struct Header {
    /// What the elements are.
    pub stored: Stored,
    /// Whether their bytes are in the other order.
    pub big_endian: bool,
    /// The dimensions.
    pub shape: Vec<u64>,
    /// Where the elements begin.
    pub start: u64,
}

/// Reads the header at the start of a file.
pub fn read_header(path: &Path, file: &mut (impl Read + Seek)) -> Result<Header, Failure> {
    let broken = |problem: String| Failure::file(path, format_args!("is not a .npy file: {problem}"), SAVE_AGAIN);
    let mut text = Vec::new();
    file.take(MOST_HEADER + 1).read_to_end(&mut text).map_err(|e| broken(e.to_string()))?;
    let length = match text.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, 0, a, b, ..] => 10 + u64::from(u16::from_le_bytes([*a, *b])),
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, 0, a, b, c, d, ..] => 12 + u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        _ => return Err(broken("it does not begin as one".into())),
    };
    if length > MOST_HEADER {
        return Err(broken(format!("its header is said to be {length} bytes long, and {MOST_HEADER} are the most")));
    }
    text.truncate(length as usize);
    let prefix = if text[6] == 1 { PREFIX } else { PREFIX + 2 };
    let text = text.get(prefix..length as usize).and_then(|text| std::str::from_utf8(text).ok());
    let mut entries = text.and_then(dictionary).ok_or_else(|| broken("its header is damaged".into()))?;
    // NumPy takes these three alone, and of a key that stands there twice the last.
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let [("descr", descr), ("fortran_order", Literal::Bool(by_columns)), ("shape", Literal::Numbers(shape))] =
        entries.iter().map(|(name, value)| (name.as_str(), value)).collect::<Vec<_>>()[..]
    else {
        return Err(broken("its header is not of descr, fortran_order and shape".into()));
    };
    if *by_columns && shape.len() > 1 {
        return Err(Failure::file(path, "is in Fortran order, in which rows do not lie side by side", SAVE_AGAIN));
    }
    let (stored, big_endian) = stored(path, descr)?;
    file.seek(SeekFrom::Start(length)).map_err(|e| broken(e.to_string()))?;
    Ok(Header { stored, big_endian, shape: shape.clone(), start: length })
}

fn stored(path: &Path, descr: &Literal) -> Result<(Stored, bool), Failure> {
    let name = match descr {
        Literal::Text(name) | Literal::Record(name) => name.as_str(),
        _ => "",
    };
    let stored = match name.split_at_checked(1) {
        Some(("<" | ">" | "=" | "|", "f4")) => Stored::Typed(DType::F32),
        Some(("<" | ">" | "=" | "|", "f2")) => Stored::Typed(DType::F16),
        Some(("<" | ">" | "=" | "|", "f8")) => Stored::F64,
        Some(("<" | ">" | "=" | "|", "V2" | "u2")) => Stored::Bits16,
        _ => {
            let problem = format!(
                "holds elements of type {name}, and the kernels read f4, f2, and f8 where --dtype says what to round it to"
            );
            return Err(Failure::file(path, problem, SAVE_AGAIN));
        }
    };
    Ok((stored, name.starts_with('>')))
}

/// Dimensions that NumPy reads.
const MOST_DIMENSIONS: usize = 64;

/// The header of a file with elements of this dtype. bfloat16 is written as `ml_dtypes` writes it, as 2 bytes without a type, and
/// 8-bit floats as plain bytes, which any NumPy reads.
pub fn header(dtype: DType, shape: &[u64]) -> Result<Vec<u8>, Failure> {
    let descr = match dtype {
        DType::F16 => "<f2",
        DType::BF16 => "<V2",
        DType::I8 => "|i1",
        DType::F8E4M3 => "|u1",
        _ => "<f4",
    };
    let dimensions: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", dimensions.trim_end());
    // The elements begin at a multiple of 64 bytes.
    let length = (PREFIX + text.len() + 1).next_multiple_of(64) - PREFIX;
    text.extend(std::iter::repeat_n(' ', length - text.len() - 1));
    text.push('\n');
    let length = u16::try_from(text.len()).ok().filter(|_| shape.len() <= MOST_DIMENSIONS).ok_or_else(|| {
        Failure::new(
            format_args!("NumPy reads at most {MOST_DIMENSIONS} dimensions, and not {}", shape.len()),
            "merge some of them",
        )
    })?;
    Ok([b"\x93NUMPY\x01\0", length.to_le_bytes().as_slice(), text.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Header, String> {
        read_header(Path::new("x.npy"), &mut Cursor::new(bytes)).map_err(|failure| failure.to_string())
    }

    fn with(text: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        for dtype in DType::ALL {
            for shape in [&[][..], &[0], &[7], &[3, 0, 5], &[2, 3, 1 << 40]] {
                let bytes = header(dtype, shape).unwrap();
                let found = read(&bytes).unwrap();
                let stored = if dtype == DType::BF16 { Stored::Bits16 } else { Stored::Typed(dtype) };
                assert_eq!((found.stored, found.shape.as_slice(), found.start), (stored, shape, bytes.len() as u64));
            }
        }
    }

    #[test]
    fn hostile_headers_are_refused() {
        let wrong = |bytes: &[u8], say: &str| {
            let message = read(bytes).unwrap_err();
            assert!(message.contains(say) && message.contains("; save it again"), "{message}");
        };
        wrong(b"", "does not begin");
        wrong(b"\x93NUMPY\x01\0", "does not begin");
        wrong(b"\x93NUMPY\x04\0\x10\0\0\0{}", "does not begin");
        wrong(b"PK\x03\x04 an .npz, say, is a zip file", "does not begin");
        wrong(b"\x93NUMPY\x02\0\xff\xff\xff\xff{", "4294967307 bytes long");
        wrong(b"\x93NUMPY\x01\0\xff\x00{'descr'", "damaged");
        wrong(b"\x93NUMPY\x01\0\x02\x00\xff\xff", "damaged");
        for text in ["(".repeat(5000), "{".repeat(16) + &"}".repeat(16), "'x'".into()] {
            wrong(&with(&text), "damaged");
        }
        let header = |descr: &str, by_columns: &str, shape: &str| {
            with(&format!("{{'descr': {descr}, 'fortran_order': {by_columns}, 'shape': {shape}, }}"))
        };
        wrong(&header("'<f4'", "True", "(2, 3)"), "Fortran");
        assert!(read(&header("'<f4'", "True", "(3,)")).is_ok());
        for descr in ["'<i4'", "'|O'", "'xf4'", "'f4'", "'<f16'", "[('a', '<f4')]"] {
            wrong(&header(descr, "False", "(2, 3)"), descr.trim_matches('\''));
        }
        for shape in ["(-2, 3)", "(99999999999999999999999, 3)", "(2.5,)", "7"] {
            wrong(&header("'<f4'", "False", shape), "damaged");
        }
        wrong(&header("'<f4'", "'no'", "(2, 3)"), "is not of descr");
        wrong(&with("{'descr': '<f4', 'fortran_order': False}"), "is not of descr");
        wrong(&with("{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}"), "is not of descr");
    }

    #[test]
    fn numpy_reads_64_dimensions() {
        assert!(header(DType::F32, &[1; 64]).is_ok() && header(DType::F32, &[1; 65]).is_err());
    }
}
