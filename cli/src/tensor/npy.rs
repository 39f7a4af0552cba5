//! The header of a `.npy` file, as numpy.lib.format describes it: a Python dictionary behind a few fixed bytes. The elements behind
//! it are read and written as bytes.
//!
//! Readers that other packages offer multiply a shape's dimensions unchecked; headers come from anywhere.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use py_literal::Value;
use wgpu_rmsnorm::DType;

use super::Stored;
use crate::failure::Failure;

/// NumPy itself reads no longer header unless it is told to.
const MOST_HEADER: u64 = 10_000;
/// Brackets within brackets that a header may have. The parser tries each level several ways, and takes a time that grows as a
/// power of the depth; structured types have the most, 4.
const MOST_NESTING: usize = 4;

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
    // The text is looked at before it is parsed: the length stands in the file, and so does the depth.
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
    if nesting(&text) > MOST_NESTING {
        return Err(broken(format!("its header has more than {MOST_NESTING} brackets within each other")));
    }
    let prefix = if text[6] == 1 { PREFIX } else { PREFIX + 2 };
    let dictionary = text.get(prefix..length as usize).and_then(|text| std::str::from_utf8(text).ok());
    let dictionary: Value =
        dictionary.and_then(|text| text.trim().parse().ok()).ok_or_else(|| broken("its header is damaged".into()))?;
    let get = |key: &str| field(&dictionary, key).ok_or_else(|| broken(format!("its header has no {key}")));
    // NumPy takes these three alone, and of a key that stands there twice the last.
    if dictionary.as_dict().is_some_and(|entries| entries.len() != 3) {
        return Err(broken("its header has other entries than descr, fortran_order and shape".into()));
    }

    let shape = dimensions(get("shape")?).ok_or_else(|| broken("its shape is not of whole numbers below 2^64".into()))?;
    if get("fortran_order")? != &Value::Boolean(false) && shape.len() > 1 {
        return Err(Failure::file(path, "is in Fortran order, in which rows do not lie side by side", SAVE_AGAIN));
    }
    let (stored, big_endian) = stored(path, get("descr")?)?;
    file.seek(SeekFrom::Start(length)).map_err(|e| broken(e.to_string()))?;
    Ok(Header { stored, big_endian, shape, start: length })
}

fn field<'a>(dictionary: &'a Value, key: &str) -> Option<&'a Value> {
    let entries = dictionary.as_dict()?;
    entries.iter().find(|(name, _)| name.as_string().is_some_and(|name| name == key)).map(|(_, value)| value)
}

fn dimensions(shape: &Value) -> Option<Vec<u64>> {
    shape.as_tuple()?.iter().map(|n| n.as_integer()?.to_string().parse().ok()).collect()
}

fn nesting(text: &[u8]) -> usize {
    let depths = text.iter().scan(0usize, |depth, byte| {
        match byte {
            b'(' | b'[' | b'{' => *depth += 1,
            b')' | b']' | b'}' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    depths.max().unwrap_or(0)
}

fn stored(path: &Path, descr: &Value) -> Result<(Stored, bool), Failure> {
    let unreadable =
        || Failure::file(path, format_args!("holds elements of type {descr}, and the kernels read f4 and f2"), SAVE_AGAIN);
    let name = descr.as_string().map_or("", String::as_str);
    let (order, kind) = name.split_at_checked(1).unwrap_or_default();
    let stored = match kind {
        _ if !["<", ">", "=", "|"].contains(&order) => return Err(unreadable()),
        "f4" => Stored::Typed(DType::F32),
        "f2" => Stored::Typed(DType::F16),
        "f8" => Stored::F64,
        "V2" | "u2" => Stored::Bits16,
        _ => return Err(unreadable()),
    };
    Ok((stored, order == ">"))
}

/// Dimensions that NumPy reads.
const MOST_DIMENSIONS: usize = 64;

/// The header of a file with elements of this dtype. bfloat16 is written as `ml_dtypes` writes it, as 2 bytes without a type.
pub fn header(dtype: DType, shape: &[u64]) -> Result<Vec<u8>, Failure> {
    let descr = match dtype {
        DType::F16 => "<f2",
        DType::BF16 => "<V2",
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
        wrong(b"PK\x03\x04 an .npz, say, is a zip file", "does not begin");
        wrong(b"\x93NUMPY\x02\0\xff\xff\xff\xff{", "4294967307 bytes long");
        wrong(b"\x93NUMPY\x01\0\xff\x00{'descr'", "damaged");
        wrong(&with(&"(".repeat(5000)), "brackets");
        wrong(&with(&("{".repeat(16) + &"}".repeat(16))), "brackets");
        wrong(&with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"), "Fortran");
        wrong(&with("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }"), "'<i4'");
        wrong(&with("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }"), "'|O'");
        wrong(&with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }"), "('a', '<f4')");
        wrong(&with("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }"), "whole numbers");
        wrong(&with("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 3), }"), "2^64");
        wrong(&with("{'descr': '<f4', 'fortran_order': False}"), "shape");
        wrong(&with("'x'"), "no shape");
        wrong(&with("{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"), "other entries");
        wrong(&with("{'descr': 'xf4', 'fortran_order': False, 'shape': (2, 3), }"), "'xf4'");
        assert!(header(DType::F32, &[1; 65]).is_err());
    }
}
