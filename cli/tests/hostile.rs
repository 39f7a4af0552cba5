//! Files and arguments that may be anything: the readers refuse with a message that names a remedy, or read to the end. What was once found
//! to break them lies in `tests/corpus/` and stays; `fuzz/` looks for more.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use wgpu_rmsnorm_cli::hostile;

/// One of the readers.
type Reader = fn(&[u8]) -> Result<(), String>;

const READERS: [(&str, Reader); 4] = [
    ("npy", |bytes| hostile::npy(bytes).map(drop)),
    ("safetensors", |bytes| hostile::safetensors(bytes).map(drop)),
    ("config", |bytes| hostile::model_config(bytes).map(drop)),
    ("arguments", |bytes| hostile::arguments(words(bytes))),
];

/// Words are apart by line ends in a file of them.
fn words(bytes: &[u8]) -> impl Iterator<Item = OsString> {
    bytes.split(|&byte| byte == b'\n').map(|word| OsString::from(String::from_utf8_lossy(word).into_owned()))
}

/// A refusal says what is wrong and what to do.
fn is_told(message: &str) -> bool {
    ["; ", "For more information", "Usage", "possible values", "wgpu-rmsnorm "].iter().any(|words| message.contains(words))
}

#[test]
fn what_was_found_stays_found() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    for (folder, reader) in READERS {
        let mut files = 0;
        for entry in fs::read_dir(corpus.join(folder)).unwrap() {
            let file = entry.unwrap().path();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let result = reader(&fs::read(&file).unwrap());
            assert_eq!(result.is_ok(), name.starts_with("good"), "{folder}/{name}: {result:?}");
            assert!(result.as_ref().err().is_none_or(|message| is_told(message)), "{folder}/{name}: {result:?}");
            files += 1;
        }
        assert!(files >= 4, "{folder}: {files} files");
    }
}

/// The good files of a folder of the corpus.
fn good(folder: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let mut files: Vec<_> = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let is_good = |file: &&std::path::PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("good"));
    files.iter().filter(is_good).map(|file| fs::read(file).unwrap()).collect()
}

/// A good file with bytes changed, taken out, put in, and its end cut off.
fn damaged(folder: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4u8);
    (prop::sample::select(good(folder)), vec(change, 0..6)).prop_map(|(mut bytes, changes)| {
        for (at, byte, way) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match way {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

/// Words that mean something to the program, among others.
fn any_words() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "apply",
        "explain",
        "verify",
        "bench",
        "tune",
        "devices",
        "check-model",
        "completions",
        "man",
        "--eps",
        "--hidden",
        "--rows",
        "--dtype",
        "--weight",
        "--output",
        "--preset",
        "--input",
        "--json",
        "--json=",
        "--force",
        "--adapter",
        "--residual",
        "--gate",
        "--groups",
        "--heads",
        "--only",
        "--tier",
        "quick",
        "full",
        "f32",
        "bf16",
        "llama",
        "torch",
        "1e-6",
        "-1",
        "nan",
        "4096",
        "18446744073709551616",
        "x.npy",
        "x.safetensors:y",
        "--",
        "-",
        "",
    ];
    let word = prop_oneof![3 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"];
    vec(word, 0..8).prop_map(|words| words.join("\n").into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        for (name, reader) in READERS {
            let result = reader(&bytes);
            prop_assert!(result.as_ref().err().is_none_or(|message| is_told(message)), "{}: {:?}", name, result);
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(npy in damaged("npy"), safetensors in damaged("safetensors"), config in damaged("config")) {
        for (bytes, (name, reader)) in [npy, safetensors, config].iter().zip(READERS) {
            let result = reader(bytes);
            prop_assert!(result.as_ref().err().is_none_or(|message| is_told(message)), "{}: {:?}", name, result);
        }
    }

    #[test]
    fn any_words_are_taken_or_refused(words in any_words()) {
        let (_, reader) = READERS[3];
        let result = reader(&words);
        prop_assert!(result.as_ref().err().is_none_or(|message| is_told(message)), "{:?}", result);
    }
}
