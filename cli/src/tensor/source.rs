//! A tensor that is read a few rows at a time.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use wgpu_rmsnorm::{DType, Values};

use super::safetensors::Index;
use super::{Format, Location, Stored, elements, npy};
use crate::failure::Failure;

const SAVE_F32: &str = "save it again in f32";

/// A tensor in a file, read from its first element on.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    reader: BufReader<File>,
    /// The tensor's name, where it has one.
    pub name: Option<String>,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// The dtype of what is read.
    pub dtype: DType,
    stored: Stored,
    big_endian: bool,
}

impl Source {
    /// Opens a tensor; `asked` is the dtype that the caller wants, by the flag of that name, where there is one.
    pub fn open(location: &Location, asked: Option<DType>, flag: Option<&str>) -> Result<Self, Failure> {
        let path = location.file.clone();
        let (file, name, shape, stored, big_endian) = match location.format {
            Format::Npy => {
                let (mut file, size) = super::open(&path)?;
                let header = npy::read_header(&path, &mut file)?;
                let expected = elements(&header.shape).and_then(|n| n.checked_mul(header.stored.size()));
                let behind = size.saturating_sub(header.start);
                // More may follow: numpy.save puts several arrays into one open file, and numpy.load reads the first.
                if expected.is_none_or(|expected| behind < expected) {
                    let expected = expected.map_or("more than 2^64".into(), |n| n.to_string());
                    let problem =
                        format!("is cut short: shape {:?} takes {expected} bytes, and {behind} are there", header.shape);
                    return Err(Failure::file(&path, problem, "copy or save it again"));
                }
                (file, None, header.shape, header.stored, header.big_endian)
            }
            Format::Safetensors => {
                let index = Index::open(&path)?;
                let entry = index.entry(location.tensor.as_deref())?;
                let stored = entry.stored.map_err(|dtype| {
                    let problem = format!("{} holds {dtype}, and the kernels read F32, F16 and BF16", entry.name);
                    Failure::file(&path, problem, "convert it first")
                })?;
                let mut file = index.into_file();
                file.seek(SeekFrom::Start(entry.start))
                    .map_err(|e| Failure::file(&path, format_args!("cannot be read: {e}"), "copy it again"))?;
                (file, Some(entry.name), entry.shape, stored, false)
            }
        };
        let dtype = match (stored, asked) {
            (Stored::Typed(dtype), None) => dtype,
            (Stored::Typed(_) | Stored::F64, Some(dtype)) => dtype,
            (Stored::Bits16, Some(DType::BF16)) => DType::BF16,
            (Stored::F64, None) => {
                let remedy = flag.map_or(SAVE_F32.into(), |flag| format!("say what to round it to: {flag} f32"));
                return Err(Failure::file(&path, "holds f64, which the kernels do not read", remedy));
            }
            (Stored::Bits16, _) => {
                let problem = "holds 16-bit values without a type, as .npy files with bfloat16 do";
                let remedy = flag.map_or(SAVE_F32.into(), |flag| format!("if that is what they are, say so: {flag} bf16"));
                return Err(Failure::file(&path, problem, remedy));
            }
        };
        Ok(Self { path, reader: BufReader::with_capacity(1 << 20, file), name, shape, dtype, stored, big_endian })
    }

    /// How many elements the tensor has.
    pub fn elements(&self) -> u64 {
        // Both formats were checked on opening.
        elements(&self.shape).unwrap_or(u64::MAX)
    }

    /// Whether reading rounds.
    pub fn is_rounded(&self) -> bool {
        self.stored == Stored::F64
            || matches!(self.stored, Stored::Typed(stored) if stored != self.dtype && self.dtype != DType::F32)
    }

    /// The next elements.
    pub fn read(&mut self, elements: u64) -> Result<Values, Failure> {
        let mut bytes = vec![0; (elements * self.stored.size()) as usize];
        self.reader
            .read_exact(&mut bytes)
            .map_err(|e| Failure::file(&self.path, format_args!("cannot be read: {e}"), "copy or save it again"))?;
        if self.big_endian {
            bytes.chunks_exact_mut(self.stored.size() as usize).for_each(<[u8]>::reverse);
        }
        Ok(match self.stored {
            Stored::Typed(dtype) if dtype == self.dtype => Values::from_bytes(dtype, &bytes),
            Stored::Typed(dtype) => Values::round_from(self.dtype, &Values::from_bytes(dtype, &bytes).as_slice().widen()),
            Stored::Bits16 => Values::from_bytes(DType::BF16, &bytes),
            Stored::F64 => {
                let values: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
                Values::round_from(self.dtype, &values)
            }
        })
    }

    /// The whole tensor, as one value a channel: `length` of them, for rows of `hidden`.
    pub fn read_channels(mut self, operand: &str, length: u64, hidden: u64) -> Result<Values, Failure> {
        if self.elements() == length {
            return self.read(length);
        }
        let (wanted, remedy) = if length == hidden {
            (format!("the input's last dimension is {hidden}"), "pass one value a channel; nothing is broadcast")
        } else {
            (
                format!("{length} values are wanted, one a channel of a head"),
                "pass one value a channel of a head; of a query head, then of a key head",
            )
        };
        let problem = format!("the {operand} has shape {:?}, and {wanted}", self.shape);
        Err(Failure::file(&self.path, problem, remedy))
    }
}
