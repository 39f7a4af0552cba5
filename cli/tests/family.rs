//! Files in, files out, for the other members of the family.

mod common;

use std::fs;
use std::path::Path;

use common::*;
use safetensors::tensor::{Dtype, SafeTensors};
use wgpu_rmsnorm::{DType, Inputs, NormSpec, Outputs, Slot, Values, reference, verify};

const ROWS: u64 = 6;
const HIDDEN: u64 = 36;

/// Rows [2, 3, 36], and what goes with them.
struct Files {
    folder: tempfile::TempDir,
    input: Values,
    weight: Values,
    bias: Values,
    gate: Values,
}

impl Files {
    fn new() -> Self {
        let files = Self {
            folder: tempfile::tempdir().unwrap(),
            input: wave(DType::F32, ROWS * HIDDEN, 3.0, 0.2),
            weight: wave(DType::F32, HIDDEN, 0.2, 1.0),
            bias: wave(DType::F32, HIDDEN, 0.5, 0.1),
            gate: wave(DType::F16, ROWS * HIDDEN, 4.0, -0.5),
        };
        for (name, descr, shape, values) in [
            ("x.npy", "<f4", "(2, 3, 36)", &files.input),
            ("w.npy", "<f4", "(36,)", &files.weight),
            ("b.npy", "<f4", "(36,)", &files.bias),
            ("g.npy", "<f2", "(2, 3, 36)", &files.gate),
        ] {
            npy(&files.path(name), descr, shape, values.as_slice().bytes());
        }
        files
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Applies a norm to the rows, checked by the program itself.
    fn apply(&self, arguments: &[&str]) -> String {
        self.apply_to("x.npy", &[&["--eps", "1e-5"], arguments].concat())
    }

    fn apply_to(&self, input: &str, arguments: &[&str]) -> String {
        let all = [&["apply", input, "-o", "y.npy", "--check", "--force"], arguments].concat();
        let (output, out, err) = run_in(self.folder(), &all);
        assert!(output.status.success() && out.contains("all right"), "{arguments:?}: {out}{err}");
        out
    }

    /// The values of a file that has this type and shape.
    fn read(&self, name: &str, dtype: DType, descr: &str, shape: &str) -> Values {
        let (header, bytes) = read_npy(&self.path(name));
        assert!(header.contains(&format!("'{descr}'")) && header.contains(&format!("'shape': {shape}, ")), "{name}: {header}");
        Values::from_bytes(dtype, &bytes)
    }

    fn output(&self) -> Values {
        self.read("y.npy", DType::F32, "<f4", "(2, 3, 36,)")
    }

    fn refused(&self, arguments: &[&str], words: &[&str]) {
        refused(self.folder(), 64, &[&["apply", "x.npy", "-o", "z.npy", "--eps", "1e-5"], arguments].concat(), words);
        assert!(!self.path("z.npy").exists(), "{arguments:?}");
    }
}

fn is_right(spec: &NormSpec, inputs: &Inputs<'_>, outputs: &Outputs) {
    let outcome = verify::check_all(spec, inputs, outputs).unwrap();
    assert!(outcome.passed() && outcome.elements as u64 >= ROWS * HIDDEN, "{outcome:?}");
}

#[test]
fn layer_norm_takes_the_mean_off() {
    let files = Files::new();
    let out = files.apply(&["--preset", "layer_norm", "--weight", "w.npy", "--bias", "b.npy"]);
    assert!(out.contains("layer_norm, eps 1e-5, f32 weight, f32 bias"), "{out}");
    let spec = NormSpec::layer_norm(HIDDEN, 1e-5);
    let inputs = Inputs::new(&files.input).weight(&files.weight).bias(&files.bias);
    is_right(&spec, &inputs, &Outputs::new(files.output()));
    let truth = reference::norm(&spec, &inputs).unwrap();
    assert!(files.output().as_slice().widen().iter().zip(truth).all(|(y, t)| (y - t).abs() < 1e-5));
}

#[test]
fn a_gate_multiplies_what_it_is_said_to() {
    let files = Files::new();
    for (flag, words, groups) in [("--gate-input", "multiplies the input", 4), ("--gate-output", "multiplies the result", 1)] {
        let groups_flag = groups.to_string();
        let out = files.apply(&["--gate", "g.npy", flag, "--weight", "w.npy", "--groups", &groups_flag]);
        assert!(out.contains("g.npy: f16 gate") && out.contains(words), "{out}");
        let spec = NormSpec::torch(HIDDEN, 1e-5).groups(groups);
        let spec = if groups > 1 { spec.gate_input(DType::F16) } else { spec.gate_output(DType::F16) };
        is_right(&spec, &Inputs::new(&files.input).weight(&files.weight).gate(&files.gate), &Outputs::new(files.output()));
    }
    files.refused(&["--gate", "g.npy"], &["it is not said what the gate multiplies", "--gate-output", "--gate-input"]);
    files.refused(&["--gate-input"], &["there is no gate"]);
    files.refused(&["--gate", "g.npy", "--gate-input", "--gate-output"], &["cannot be used with"]);
    files.refused(&["--gate", "w.npy", "--gate-output"], &["w.npy: the gate has shape [36], and the input [2, 3, 36]"]);
}

#[test]
fn heads_share_their_weights() {
    let files = Files::new();
    let weight = wave(DType::F32, 24, 0.3, 1.0);
    npy(&files.path("w12.npy"), "<f4", "(12,)", &weight.as_slice().bytes()[..48]);
    npy(&files.path("w24.npy"), "<f4", "(2, 12)", weight.as_slice().bytes());
    let spec = NormSpec::llama(HIDDEN, 1e-5);
    let first = Values::from_bytes(DType::F32, &weight.as_slice().bytes()[..48]);
    let out = files.apply(&["--preset", "llama", "--heads", "3", "--weight", "w12.npy"]);
    assert!(out.contains("Groups   3 of 12 channels, which share a weight"), "{out}");
    is_right(&spec.heads(3), &Inputs::new(&files.input).weight(&first), &Outputs::new(files.output()));
    let out = files.apply(&["--preset", "llama", "--query-heads", "2", "--key-heads", "1", "--weight", "w24.npy"]);
    assert!(out.contains("2 query heads and 1 key heads"), "{out}");
    is_right(&spec.query_and_key_heads(2, 1), &Inputs::new(&files.input).weight(&weight), &Outputs::new(files.output()));
    files.refused(&["--heads", "3", "--weight", "w.npy"], &["the weight has shape [36], and 12 values are wanted"]);
    files.refused(&["--groups", "5"], &["groups: expected a number of groups, or heads, that divides hidden = 36, got 5"]);
    files.refused(&["--query-heads", "2"], &["--key-heads <N>"]);
}

#[test]
fn a_statistic_may_be_of_the_first_channels() {
    let files = Files::new();
    let out = files.apply(&["--statistics-length", "9", "--weight", "w.npy"]);
    assert!(out.contains("statistics of the first 9 channels"), "{out}");
    let spec = NormSpec::torch(HIDDEN, 1e-5).partial(9);
    is_right(&spec, &Inputs::new(&files.input).weight(&files.weight), &Outputs::new(files.output()));
    files.refused(&["--statistics-length", "37"], &["statistics_length: expected between 1 and 36 channels"]);
}

/// One scale a row has the shape of the rows; with groups there is a dimension for them.
#[test]
fn the_scale_of_rows_is_written() {
    let files = Files::new();
    for (groups, shape) in [(1, "(2, 3,)"), (3, "(2, 3, 3,)")] {
        let number = groups.to_string();
        files.apply(&["--rstd", "r.npy", "--groups", &number, "--weight", "w.npy"]);
        let rstd = files.read("r.npy", DType::F32, "<f4", shape);
        let spec = NormSpec::torch(HIDDEN, 1e-5).groups(groups).rstd();
        let outputs = Outputs::new(files.output()).with(Slot::Rstd, Some(rstd));
        is_right(&spec, &Inputs::new(&files.input).weight(&files.weight), &outputs);
    }
    files.refused(&["--rstd", "z.npy"], &["--rstd: this file is the output's"]);
    fs::write(files.path("r.npy"), b"precious").unwrap();
    files.refused(&["--rstd", "r.npy"], &["r.npy: exists already", "--force"]);
    assert_eq!(fs::read(files.path("r.npy")).unwrap(), b"precious");
}

#[test]
fn codes_are_written_with_their_scales() {
    let files = Files::new();
    let inputs = Inputs::new(&files.input).weight(&files.weight);
    for (dtype, descr) in [(DType::I8, "|i1"), (DType::F8E4M3, "|u1")] {
        let spec = NormSpec::torch(HIDDEN, 1e-5);
        let with = ["--weight", "w.npy", "--quantized", dtype.name()];
        let out = files.apply(&[&with[..], &["--scale-out", "s.npy"]].concat());
        assert!(
            out.contains(&format!("Codes    {dtype} by a scale of each row")) && out.contains("6 scale, 216 output"),
            "{out}"
        );
        let (codes, scales) =
            (files.read("y.npy", dtype, descr, "(2, 3, 36,)"), files.read("s.npy", DType::F32, "<f4", "(2, 3,)"));
        is_right(&spec.quantized(dtype), &inputs, &Outputs::new(codes).with(Slot::Scale, Some(scales)));
        files.apply(&[&with[..], &["--scale", "0.03"]].concat());
        let codes = files.read("y.npy", dtype, descr, "(2, 3, 36,)");
        is_right(&spec.quantized_by(dtype, 0.03), &inputs, &Outputs::new(codes));
    }
    // The other format has types for both.
    for (dtype, kind) in [("i8", Dtype::I8), ("f8e4m3", Dtype::F8_E4M3)] {
        let arguments = ["apply", "x.npy", "-o", "y.safetensors", "--eps", "1e-5", "--quantized", dtype, "--force"];
        let (output, _, err) = run_in(files.folder(), &[&arguments[..], &["--scale-out", "s.safetensors"]].concat());
        assert!(output.status.success(), "{err}");
        let (codes, scales) = (fs::read(files.path("y.safetensors")).unwrap(), fs::read(files.path("s.safetensors")).unwrap());
        assert_eq!(SafeTensors::deserialize(&codes).unwrap().tensor("output").unwrap().dtype(), kind);
        assert_eq!(SafeTensors::deserialize(&scales).unwrap().tensor("scale").unwrap().shape(), [2, 3]);
        // Codes are written alone.
        refused(files.folder(), 64, &["apply", "y.safetensors", "-o", "z.npy", "--eps", "1"], &["the kernels read F32"]);
    }
    files.refused(&["--quantized", "i8"], &["scales of its rows have nowhere to go", "--scale-out", "--scale"]);
    files.refused(&["--quantized", "i8", "--scale", "1", "--scale-out", "s.npy"], &["cannot be used with"]);
    files.refused(&["--scale-out", "s.npy"], &["--quantized <CODES>"]);
    files.refused(&["--quantized", "i8", "--scale", "-1"], &["scale: expected a positive number"]);
    refused(files.folder(), 64, &["apply", "y.npy", "-o", "z.npy", "--eps", "1"], &["holds elements of type |u1"]);
}

/// Rows whose length is no multiple of four codes: the file has no padding.
#[test]
fn codes_lie_side_by_side() {
    let files = Files::new();
    let input = wave(DType::F16, 5 * 7, 2.0, 0.1);
    npy(&files.path("odd.npy"), "<f2", "(5, 7)", input.as_slice().bytes());
    files.apply_to("odd.npy", &["--eps", "1e-6", "--quantized", "i8", "--scale-out", "s.npy"]);
    let outputs = Outputs::new(files.read("y.npy", DType::I8, "|i1", "(5, 7,)"));
    let outputs = outputs.with(Slot::Scale, Some(files.read("s.npy", DType::F32, "<f4", "(5,)")));
    let spec = NormSpec::torch(7, 1e-6).input(DType::F16).without_weight().quantized(DType::I8);
    assert!(verify::check_all(&spec, &Inputs::new(&input), &outputs).unwrap().passed());
}

/// Every row in two parts, on two devices as it were: the result is that of the whole rows.
#[test]
fn parts_of_rows_are_joined() {
    let files = Files::new();
    let cut = |values: &Values, from: usize, to: usize| -> Values {
        let rows = values.as_slice().widen();
        let part: Vec<f64> = rows.chunks(HIDDEN as usize).flat_map(|row| &row[from..to]).copied().collect();
        Values::round_from(DType::F32, &part)
    };
    let ranges = [(0, 20), (20, 36)];
    let mut statistics = Vec::new();
    for (index, (from, to)) in ranges.into_iter().enumerate() {
        let (x, shape) = (format!("x{index}.npy"), format!("(2, 3, {})", to - from));
        npy(&files.path(&x), "<f4", &shape, cut(&files.input, from, to).as_slice().bytes());
        npy(
            &files.path(&format!("w{index}.npy")),
            "<f4",
            &format!("({},)", to - from),
            cut(&files.weight, from, to).as_slice().bytes(),
        );
        let out = files.apply_to(&x, &["--stats"]);
        assert!(out.contains("its statistics alone"), "{out}");
        statistics.push(files.read("y.npy", DType::F32, "<f4", "(2, 3, 2,)"));
    }
    // numpy.stack(statistics, axis=-2)
    let stacked: Vec<u8> = (0..ROWS as usize)
        .flat_map(|row| statistics.iter().flat_map(move |s| &s.as_slice().bytes()[row * 8..][..8]))
        .copied()
        .collect();
    npy(&files.path("s.npy"), "<f4", "(2, 3, 2, 2)", &stacked);
    let mut parts = Vec::new();
    for (index, (from, to)) in ranges.into_iter().enumerate() {
        let weight = format!("w{index}.npy");
        let arguments = ["--eps", "1e-5", "--statistics", "s.npy", "--total", "36", "--weight", &weight];
        let out = files.apply_to(&format!("x{index}.npy"), &arguments);
        assert!(out.contains("statistics of 2 parts, 36 channels in all"), "{out}");
        parts.push((to - from, files.read("y.npy", DType::F32, "<f4", &format!("(2, 3, {},)", to - from)).as_slice().widen()));
    }
    let joined: Vec<f64> =
        (0..ROWS as usize).flat_map(|row| parts.iter().flat_map(move |(n, part)| part[row * n..][..*n].to_vec())).collect();
    let inputs = Inputs::new(&files.input).weight(&files.weight);
    is_right(&NormSpec::torch(HIDDEN, 1e-5), &inputs, &Outputs::new(Values::round_from(DType::F32, &joined)));

    files.refused(&["--stats", "--weight", "w.npy"], &["weight: expected none for stats"]);
    files.refused(&["--statistics", "s.npy"], &["--total <CHANNELS>"]);
    files.refused(&["--statistics", "x.npy", "--total", "72"], &["the statistics have shape [2, 3, 36]", "numpy.stack"]);
    files.refused(&["--statistics", "s.npy", "--total", "35"], &["total: expected at least the 36 channels of the part"]);
}
