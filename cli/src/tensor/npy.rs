//! The header of a `.npy` file. The elements behind it are read and written as bytes.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use npyz::{NpyHeader, Order, WriterBuilder};
use wgpu_rmsnorm::DType;

use super::Stored;
use crate::failure::Failure;

/// NumPy itself reads no longer header unless it is told to.
const MOST_HEADER: u64 = 10_000;
/// Brackets within brackets that a header may have; the parser recurses.
const MOST_NESTING: usize = 16;

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
    let broken = |problem: String| Failure::file(path, format_args!("is no .npy file: {problem}"), SAVE_AGAIN);
    // The text is looked at before it is parsed: the length stands in the file, and so does the depth.
    let mut text = Vec::new();
    file.take(MOST_HEADER + 1).read_to_end(&mut text).map_err(|e| broken(e.to_string()))?;
    let length = match text.as_slice() {
        [_, _, _, _, _, _, 1, _, a, b, ..] => 10 + u64::from(u16::from_le_bytes([*a, *b])),
        [_, _, _, _, _, _, 2 | 3, _, a, b, c, d, ..] => 12 + u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        _ => return Err(broken("it does not begin as one".into())),
    };
    if length > MOST_HEADER {
        return Err(broken(format!("its header is said to be {length} bytes long, and {MOST_HEADER} are the most")));
    }
    text.truncate(length as usize);
    if nesting(&text) > MOST_NESTING {
        return Err(broken(format!("its header has more than {MOST_NESTING} brackets within each other")));
    }
    let header = NpyHeader::from_reader(text.as_slice()).map_err(|e| broken(e.to_string()))?;
    if header.order() != Order::C && header.shape().len() > 1 {
        return Err(Failure::file(path, "is in Fortran order, in which rows do not lie side by side", SAVE_AGAIN));
    }
    let (stored, big_endian) = stored(path, &header.dtype().descr())?;
    file.seek(SeekFrom::Start(length)).map_err(|e| broken(e.to_string()))?;
    Ok(Header { stored, big_endian, shape: header.shape().to_vec(), start: length })
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

fn stored(path: &Path, descr: &str) -> Result<(Stored, bool), Failure> {
    let name = descr.trim_matches('\'');
    let (order, kind) = name.split_at_checked(1).unwrap_or_default();
    let stored = match kind {
        "f4" => Stored::Typed(DType::F32),
        "f2" => Stored::Typed(DType::F16),
        "f8" => Stored::F64,
        "V2" | "u2" => Stored::Bits16,
        _ => {
            let problem = format!("holds elements of type {descr}, and the kernels read f4 and f2");
            return Err(Failure::file(path, problem, SAVE_AGAIN));
        }
    };
    Ok((stored, order == ">"))
}

/// The header of a file with elements of this dtype. bfloat16 is written as `ml_dtypes` writes it, as 2 bytes without a type.
pub fn header(dtype: DType, shape: &[u64]) -> Result<Vec<u8>, Failure> {
    let name = match dtype {
        DType::F16 => "<f2",
        DType::BF16 => "<V2",
        _ => "<f4",
    };
    let mut bytes = Vec::new();
    let written = npyz::DType::parse(&format!("'{name}'"))
        .and_then(|dtype| npyz::WriteOptions::new_header_only().dtype(dtype).shape(shape).writer(&mut bytes).write_header_only());
    written.map_err(|e| Failure::new(format_args!("the header cannot be written: {e}"), "please report this"))?;
    Ok(bytes)
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
        wrong(b"\x93NUMPY\x01\0\xff\x00{'descr'", "");
        wrong(&with(&"(".repeat(5000)), "brackets");
        wrong(&with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"), "Fortran");
        wrong(&with("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }"), "'<i4'");
        wrong(&with("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }"), "'|O'");
        wrong(&with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }"), "('a', '<f4')");
        wrong(&with("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }"), "negative");
        wrong(&with("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 3), }"), "");
        wrong(&with("{'descr': '<f4', 'fortran_order': False}"), "shape");
        wrong(&with("'x'"), "");
    }
}
