//! Every check can fail: deliberately broken kernels are caught by the case list.
//!
//! A fault is a piece of a kernel's text and what it is replaced by. It counts as caught where a case that passes on the sound
//! kernel fails on the broken one.

mod common;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use wgpu_rmsnorm::Gpu;
use wgpu_rmsnorm::verify::{Case, Status, Tier, cases, run_case};

struct Fault {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    /// The case that catches it.
    case: &'static str,
    /// Part of the name of the adapters on which it shows; empty for all.
    shows_on: &'static str,
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "wrong divisor",
        from: "mean_of(squares, params.eps)",
        to: "mean_of(squares * (f32(HIDDEN) / f32(HIDDEN - 1u)), params.eps)",
        case: "hidden 769 f16",
        shows_on: "",
    },
    Fault {
        name: "tail left out of the sum",
        from: "if (o < OCTETS) {",
        to: "if (o < WHOLE_OCTETS) {",
        case: "hidden 769 f16",
        shows_on: "",
    },
    Fault {
        name: "tail not written",
        from: "if (invocation == 0u && row.present) {\n        let i = HIDDEN",
        to: "if (invocation > WIDTH && row.present) {\n        let i = HIDDEN",
        case: "A6 2 x 2049",
        shows_on: "",
    },
    Fault {
        name: "shared word written by one row alone",
        from: "store_output_shared(row.output, end_before, v[0].x)",
        to: "store_output_head(row.output, v[0].x)",
        case: "A1 7 x 769 bf16",
        shows_on: "",
    },
    Fault {
        name: "half-word beside the output overwritten",
        from: "(output_words_one(i) & ~mask) |",
        to: "",
        case: "offset 1: 101 f16",
        shows_on: "",
    },
    Fault {
        name: "weight applied twice",
        from: "Octet(n[0] * w[0], n[1] * w[1])",
        to: "Octet(n[0] * w[0] * w[0], n[1] * w[1] * w[1])",
        case: "G8 weight 2 once",
        shows_on: "",
    },
    Fault {
        name: "weight offset left out",
        from: "w + vec4<f32>(params.weight_offset)",
        to: "w",
        case: "E9 weight 0.5, offset 1",
        shows_on: "",
    },
    Fault {
        name: "eps outside the root",
        from: "Scale(inverse_root(mean), 0,",
        to: "Scale(1.0 / (sqrt(squares * INVERSE_HIDDEN) + params.eps), 0,",
        case: "D3 eps inside the root",
        shows_on: "",
    },
    Fault {
        name: "eps of another model",
        from: "mean_of(squares, params.eps)",
        to: "mean_of(squares, 1e-5)",
        case: "D5 0.3, eps 1e-6",
        shows_on: "",
    },
    Fault {
        name: "no Newton step",
        from: "return r + opaque_one(r * (0.5 * residual));",
        to: "return r * 1.0000005;",
        case: "hidden 4096 f32",
        shows_on: "",
    },
    Fault {
        name: "f16 truncated",
        from: "+ vec4<u32>(0xfffu) + even) >> vec4<u32>(13u)",
        to: ") >> vec4<u32>(13u)",
        case: "E10 rounding of a million, normal f16",
        shows_on: "",
    },
    Fault {
        name: "f16 ties away from even",
        from: "+ vec4<u32>(0xfffu) + even)",
        to: "+ vec4<u32>(0x1000u))",
        case: "E4 ties down, f16",
        shows_on: "",
    },
    Fault {
        name: "bf16 truncated",
        from: "(bits + vec4<u32>(0x7fffu) + even)",
        to: "(bits)",
        case: "E10 rounding of a million, normal bf16",
        shows_on: "",
    },
    Fault {
        name: "f16 subnormals flushed",
        from: "select(normal, subnormal, magnitude < vec4<u32>(0x38800000u))",
        to: "select(normal, vec4<u32>(0u), magnitude < vec4<u32>(0x38800000u))",
        case: "P3 f16 results near 1e-7",
        shows_on: "",
    },
    Fault {
        name: "weight before the cast",
        from: "let n = cast_normalized(Octet(x[0] * scale, x[1] * scale));",
        to: "let n = Octet(x[0] * scale, x[1] * scale);",
        case: "E2 llama weight 3.7",
        shows_on: "",
    },
    Fault {
        name: "no rescue",
        from: "return bitcast<u32>(squares) < 0x1f800000u || bitcast<u32>(mean) >= 0x7f800000u;",
        to: "return false;",
        case: "1e30 f32 eps 1e-6",
        shows_on: "",
    },
    Fault {
        name: "no rescue of small rows",
        from: "bitcast<u32>(squares) < 0x1f800000u ||",
        to: "",
        case: "1e-25 f32 eps 0e0",
        shows_on: "",
    },
    Fault {
        name: "rescue without scaling eps",
        from: "vec4<i32>(params.eps_exponent - 2 * exponent)",
        to: "vec4<i32>(params.eps_exponent)",
        case: "1e-19 f32 eps 1e-6",
        shows_on: "",
    },
    Fault {
        name: "subnormals not normalised",
        from: "select(bits, bitcast<vec4<u32>>(vec4<f32>(bits)), bits < vec4<u32>(0x800000u))",
        to: "bits",
        case: "subnormal f32 eps 1e-6",
        shows_on: "",
    },
    Fault {
        name: "no guard behind the last row",
        from: "let present = number < rows;",
        to: "let present = true;",
        case: "993 of 1000 rows, 24 f32",
        shows_on: "",
    },
    Fault {
        name: "high digit of the rows ignored",
        from: "| (row_digit_1.value << 8u)",
        to: "",
        case: "257 rows of 129 bf16",
        shows_on: "",
    },
    Fault {
        name: "input stride taken for the output",
        from: "params.output_start + safe * params.output_stride",
        to: "params.output_start + safe * HIDDEN",
        case: "gap 8: 104 f16",
        shows_on: "",
    },
    Fault { name: "offset ignored", from: "params.input_start + safe", to: "safe", case: "G3 offset 100: 104 f16", shows_on: "" },
    Fault {
        name: "one chain instead of the tree",
        from: "const BLOCK: u32 = 8u;",
        to: "const BLOCK: u32 = 100000u;",
        case: "constant row of 65536",
        shows_on: "",
    },
    Fault {
        name: "products left to be fused",
        from: "bitcast<vec4<f32>>(bitcast<vec4<u32>>(v) | vec4<u32>(params.zero))",
        to: "v",
        case: "1 invocation: 100 f32",
        shows_on: "Mesa 22.3.6",
    },
    Fault {
        name: "sum not rounded before it is normalised",
        from: "return decode_bf16(encode_bf16(v));",
        to: "return v;",
        case: "llama bf16",
        shows_on: "",
    },
    Fault {
        name: "sum rounded although it must not be",
        from: "fn cast_sum(v: Octet) -> Octet {\n    return v;",
        to: "fn cast_sum(v: Octet) -> Octet {\n    return decode_bf16(encode_bf16(v));",
        case: "bf16 + bf16, hidden 96, unrounded",
        shows_on: "",
    },
    Fault {
        name: "subnormal summands flushed",
        from: "if (!any(rare))",
        to: "if (true)",
        case: "mixed rows f32, eps 0",
        shows_on: "SwiftShader",
    },
    Fault {
        name: "result not rounded before the residual is added",
        from: "let n = cast_normed(y);",
        to: "let n = y;",
        case: "bf16, then f32, hidden 129",
        shows_on: "",
    },
    Fault {
        name: "residual not added at the end of a row",
        from: "return after(finish(rest.x, rest.w, rest.b, scale.factor), rest.r);",
        to: "return finish(rest.x, rest.w, rest.b, scale.factor);",
        case: "bf16, then f32, hidden 129",
        shows_on: "",
    },
    Fault {
        name: "residual left out",
        from: "return load_residual(row.residual + i);",
        to: "return Octet(vec4<f32>(0.0), vec4<f32>(0.0));",
        case: "f16 + f16, hidden 96",
        shows_on: "",
    },
    Fault {
        name: "sum not written",
        from: "store_residual_out(row.residual_out + i, x);",
        to: "",
        case: "f16 + f16, hidden 96",
        shows_on: "",
    },
    Fault {
        name: "end of the sum not written",
        from: "store_residual_out_rest(row.residual_out + i, x, count);",
        to: "",
        case: "f16 + f16, hidden 129",
        shows_on: "",
    },
    Fault {
        name: "missing barrier",
        from: "lane_pairs[first + i] += lane_pairs[first + i + half];\n        }\n        workgroupBarrier();",
        to: "lane_pairs[first + i] += lane_pairs[first + i + half];\n        }",
        case: "normal row of 1048576",
        shows_on: "",
    },
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let all = cases(Tier::Full);
    let mut trials = Vec::new();
    common::each_adapter(&mut trials, |trials, adapter, name, gpu| {
        for fault in FAULTS.iter().filter(|fault| adapter.matches(fault.shows_on)) {
            let case = all.iter().find(|c| c.name == fault.case).cloned();
            let gpu = gpu.clone();
            trials.push(Trial::test(format!("[{name}] {}", fault.name), move || caught(&gpu, fault, case)));
        }
    });
    if trials.is_empty() {
        trials.push(Trial::test("an adapter", || Err("none was found".into())));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn caught(gpu: &Gpu, fault: &Fault, case: Option<Case>) -> Result<(), Failed> {
    let Some(case) = case else { return Err(format!("no case {:?}", fault.case).into()) };
    let sound = pollster::block_on(run_case(gpu, &case)).status;
    if sound != Status::Passed {
        return Err(format!("the sound kernel fails already: {sound:?}").into());
    }
    match pollster::block_on(run_case(&gpu.with_fault(fault.from, fault.to), &case)).status {
        Status::Failed(_) => Ok(()),
        other => Err(format!("not caught: {other:?}").into()),
    }
}
