//! The family, end to end on every adapter: what the case list cannot say of one norm alone.

#[path = "common/host.rs"]
mod common;

use common::*;
use wgpu_rmsnorm::verify::{Data, Regime, Weights, check, check_all};
use wgpu_rmsnorm::{
    AddOrder, DType, Element, Error, F8E4M3, Gpu, Inputs, Layout, NormSpec, Operand, Operands, Plan, Preset, Slot, Values,
    reference,
};

const ROWS: u64 = 12;
const HIDDEN: u64 = 1000;

/// Rows cut into shards: each finds its statistics, and applies those of all. Returns the output of the whole rows.
fn sharded(gpu: &Gpu, spec: NormSpec, input: &Values, weight: &Values, cuts: &[u64]) -> Vec<f64> {
    let columns = |values: &Values, rows: u64, from: u64, to: u64| {
        let values = values.as_slice().widen();
        let row = |row: u64| values[(row * HIDDEN + from) as usize..(row * HIDDEN + to) as usize].to_vec();
        (0..rows).flat_map(row).collect::<Vec<f64>>()
    };
    let shards: Vec<(u64, u64)> = cuts.windows(2).map(|cut| (cut[0], cut[1])).collect();
    let part = |from: u64, to: u64| {
        let mut part = spec;
        part.hidden = to - from;
        part
    };
    let mut statistics = vec![0.0; (ROWS as usize) * shards.len() * 2];
    for (shard, &(from, to)) in shards.iter().enumerate() {
        let x = Values::round_from(spec.input, &columns(input, ROWS, from, to));
        let stats = part(from, to).stats();
        let found = run(gpu, stats, &Inputs::new(&x)).unwrap();
        assert!(check(&stats, &Inputs::new(&x), found.as_slice()).unwrap().passed());
        for (row, pair) in found.as_slice().widen().chunks_exact(2).enumerate() {
            statistics[(row * shards.len() + shard) * 2..][..2].copy_from_slice(pair);
        }
    }
    let statistics = Values::round_from(DType::F32, &statistics);
    let mut output = vec![0.0; (ROWS * HIDDEN) as usize];
    for &(from, to) in &shards {
        let x = Values::round_from(spec.input, &columns(input, ROWS, from, to));
        let w = Values::round_from(DType::F32, &columns(weight, 1, from, to));
        let apply = part(from, to).apply(HIDDEN, shards.len() as u64);
        let y = run(gpu, apply, &Inputs::new(&x).weight(&w).statistics(&statistics)).unwrap();
        for (row, y) in y.as_slice().widen().chunks_exact((to - from) as usize).enumerate() {
            output[row * HIDDEN as usize + from as usize..][..y.len()].copy_from_slice(y);
        }
    }
    output
}

/// Over 1, 2, 3 and 7 unequal shards, rows of every size give what they give unsharded: the same bits over one shard, and within
/// 4 ULP (f32) or one (half types) over more.
#[test]
fn shards_give_what_whole_rows_give() {
    for gpu in gpus() {
        for dtype in DType::ALL {
            for (name, regime) in [
                ("normal", Regime::Normal(1.0)),
                ("mixed", Regime::Mixed),
                ("any finite", Regime::AnyFinite),
                ("3e38", Regime::Alternating(3e38)),
                ("subnormal", Regime::Subnormal),
                ("zeros", Regime::Constant(0.0)),
                ("NaN and infinity", Regime::Spoiled),
            ] {
                for eps in [1e-6, 0.0] {
                    let spec = NormSpec::torch(HIDDEN, eps).input(dtype);
                    let data = Data::new(&spec, ROWS, regime, Weights::Usual);
                    let (input, weight) = (data.get(Slot::Input).unwrap(), data.get(Slot::Weight).unwrap());
                    let whole = run(gpu, spec, &data.inputs()).unwrap().as_slice().widen();
                    for cuts in [
                        vec![0, HIDDEN],
                        vec![0, 313, HIDDEN],
                        vec![0, 1, 500, HIDDEN],
                        vec![0, 100, 101, 350, 512, 700, 960, HIDDEN],
                    ] {
                        let parts = sharded(gpu, spec, input, weight, &cuts);
                        let most = match dtype {
                            _ if cuts.len() == 2 => 0.0,
                            DType::F32 => 4.0,
                            _ => 1.0,
                        };
                        for (index, (part, whole)) in parts.iter().zip(&whole).enumerate() {
                            let distance = (part - whole).abs() / spec.output_dtype().ulp(*whole);
                            let equal = part == whole || part.is_nan() && whole.is_nan();
                            assert!(
                                equal || distance <= most,
                                "{name} {dtype}, eps {eps:e}, {} shards, element {index}: {part:e} and {whole:e}",
                                cuts.len() - 1
                            );
                        }
                    }
                }
            }
        }
    }
}

/// No weight is ones, no bias zeros, no residual zeros, all channels are a partial statistic, one group is none: in every
/// combination.
#[test]
fn optional_operands_in_every_combination_are_neutral() {
    let hidden = 72u64;
    let zeros = |dtype: DType, count: u64, zero: f64| Values::round_from(dtype, &vec![zero; count as usize]);
    for gpu in gpus() {
        for (preset, dtype, gate) in [
            (Preset::Torch, DType::F16, None),
            (Preset::Gemma, DType::F32, Some(AddOrder::After)),
            (Preset::LayerNorm, DType::BF16, Some(AddOrder::Before)),
        ] {
            let base = preset.spec(hidden, 1e-6).dtype(dtype).without_weight().without_bias();
            let base = match gate {
                None => base,
                Some(AddOrder::Before) => base.gate_input(dtype),
                Some(_) => base.gate_output(dtype),
            };
            let data = Data::new(&base, 9, Regime::Mixed, Weights::Usual);
            let bare = run(gpu, base, &data.inputs()).unwrap();
            let ones = base.weight(dtype).initial_weight().unwrap();
            let (none, minus) = (zeros(dtype, hidden, 0.0), zeros(dtype, hidden * 9, -0.0));
            for choice in 0..32 {
                let (mut spec, mut inputs) = (base, data.inputs());
                if choice & 1 != 0 {
                    (spec, inputs) = (spec.weight(dtype), inputs.weight(&ones));
                }
                if choice & 2 != 0 {
                    (spec, inputs) = (spec.bias(dtype), inputs.bias(&none));
                }
                if choice & 4 != 0 && gate != Some(AddOrder::Before) {
                    (spec, inputs) = (spec.add_residual(dtype), inputs.residual(&minus));
                }
                if choice & 8 != 0 && !spec.centered {
                    spec = spec.partial(hidden);
                }
                if choice & 16 != 0 {
                    spec = spec.groups(1).rstd();
                }
                let got = run(gpu, spec, &inputs).unwrap();
                assert_eq!(got.as_slice().bytes(), bare.as_slice().bytes(), "{preset} {dtype} {gate:?} {choice:05b}");
            }
        }
    }
}

/// A pipeline never binds more than eight storage buffers: what needs nine is refused by name, and fits once operands share.
#[test]
fn nine_operands_are_too_many() {
    let spec = NormSpec::llama(64, 1e-6).dtype(DType::F16).bias(DType::F16).add_residual(DType::F32);
    let all = spec.gate_output(DType::F16).rstd().quantized(DType::I8);
    let operands = Slot::ALL.into_iter().filter(|slot| all.dtype_of(*slot).is_some()).count();
    assert_eq!(operands, 9);
    for gpu in gpus() {
        let buffers: Vec<_> = (0..9).map(|_| buffer(gpu, 4096, USAGE)).collect();
        let [x, w, b, r, z, s, rstd, scale, y] = std::array::from_fn(|index| Operand::new(&buffers[index]));
        let norm = gpu.norm(all).unwrap();
        let apart = Operands::new(x, y).weight(w).bias(b).residual(r, s).gate(z).rstd(rstd).scale(scale);
        let error = norm.prepare_blocking(&apart, 4).unwrap_err();
        assert!(matches!(&error, Error::Limit(detail) if detail.expected == "at most 8 storage buffers"), "{error}");
        for slot in Slot::ALL.into_iter().filter(|slot| all.dtype_of(*slot).is_some()) {
            assert!(error.to_string().contains(slot.name()), "{slot} in {error}");
        }
        let in_place = Operands::new(x, y).weight(w).bias(b).residual_in_place(r).gate(z).rstd(rstd).scale(scale);
        let prepared = norm.prepare_blocking(&in_place, 4).unwrap();
        assert_eq!(prepared.plan().bindings.len(), 8);
        still_works(gpu);
    }
    let caps = wgpu_rmsnorm::Caps::webgpu_defaults();
    assert!(matches!(Plan::new(&all, &caps, &Layout::contiguous(&all, 4), 4), Err(Error::Limit(_))));
}

/// SiLU by itself, bit by bit through a norm of one channel with a huge eps: `x · r` is a constant, and the gate all that varies.
#[test]
fn silu_is_within_its_bound_over_its_whole_range() {
    // r = 1/sqrt(1 + 3) to within an f32 ULP.
    let spec = NormSpec::torch(1, 3.0).without_weight().gate_output(DType::F32);
    let z: Vec<f32> =
        (0..200_000u32).map(|i| (f64::from(i) / 1000.0 - 110.0) as f32).chain([0.0, -0.0, 1e-40, 700.0, -700.0, 1e38]).collect();
    let x = vec![1f32; z.len()];
    for gpu in gpus() {
        let inputs = Inputs::new(&x).gate(&z);
        let y = run(gpu, spec, &inputs).unwrap();
        let outcome = check(&spec, &inputs, y.as_slice()).unwrap();
        assert!(outcome.passed(), "{outcome:?}");
        // Far below the model's allowance, which has room for WGSL's division.
        assert!(outcome.worst_ulp < 4.0, "{} ULP", outcome.worst_ulp);
    }
}

/// A gate that is no number spoils its element alone, whichever way it opens, and a shut one closes it.
#[test]
fn a_gate_that_is_no_number_spoils_one_element() {
    let z = [f32::NAN, 0.0, -800.0, 1e-40, 1.2e-38, 1.0, f32::INFINITY, f32::NEG_INFINITY];
    let x = [1f32; 8];
    for gpu in gpus() {
        for spec in [NormSpec::torch(8, 0.0), NormSpec::llama(8, 0.0)].map(|spec| spec.without_weight().gate_output(DType::F32)) {
            let silu = run(gpu, spec, &Inputs::new(&x).gate(&z)).unwrap().as_slice().widen();
            assert!(
                silu[0].is_nan() && silu[7].is_nan() && silu[1] == 0.0 && silu[2] == 0.0 && silu[6] == f64::INFINITY,
                "{silu:?}"
            );
            let sigmoid = run(gpu, spec.sigmoid(), &Inputs::new(&x).gate(&z)).unwrap().as_slice().widen();
            assert!(sigmoid[0].is_nan(), "{sigmoid:?}");
            assert_eq!((sigmoid[1], sigmoid[2], sigmoid[3], sigmoid[4], sigmoid[6], sigmoid[7]), (0.5, 0.0, 0.5, 0.5, 1.0, 0.0));
        }
        // Tiny gates of huge values, and the other way round: the products are ordinary numbers.
        let (x, z) = ([1e30f32, 2e30, 1e-40, -1e-40], [1e-40f32, 1.3e-38, 1e30, 1e38]);
        for spec in [
            NormSpec::torch(4, 1e-30).without_weight().gate_input(DType::F32),
            NormSpec::torch(4, 1e-30).without_weight().gate_input(DType::F32).sigmoid(),
        ] {
            let inputs = Inputs::new(&x).gate(&z);
            let outcome = check(&spec, &inputs, run(gpu, spec, &inputs).unwrap().as_slice()).unwrap();
            assert!(outcome.passed(), "{outcome:?}");
        }
    }
}

/// Codes and scales of rows worked out by hand: saturation, ties, rows of zeros, and words that end within a row.
#[test]
fn codes_are_the_nearest() {
    for gpu in gpus() {
        // Rows of 5 that are normalised already: their mean of squares is 1, and eps is 0.
        let row = [0.5f32, 1.0, -1.0, 0.5, 1.581_138_8];
        let spec = NormSpec::torch(5, 0.0).without_weight().quantized(DType::I8);
        let x = [row, [0.0; 5], row.map(|v| v * 1e30)].concat();
        let outputs = gpu.norm(spec).unwrap().run_all_blocking(&Inputs::new(&x)).unwrap();
        let codes = outputs.output().as_slice().widen();
        assert_eq!(codes[..5], [40.0, 80.0, -80.0, 40.0, 127.0]);
        assert_eq!(codes[5..10], [0.0; 5]);
        assert_eq!(codes[10..], codes[..5]);
        assert_eq!(outputs.get(Slot::Scale).unwrap().as_slice().get(1), Some(1.0));
        let outcome = check_all(&spec, &Inputs::new(&x), &outputs).unwrap();
        assert!(outcome.passed() && outcome.elements == 15 + 3, "{outcome:?}");
        // Ties go to the even code: rows of ones keep their weight exactly.
        let ties = [0.5f32, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, -200.0];
        let spec = NormSpec::torch(8, 0.0).quantized_by(DType::I8, 1.0);
        let codes = run(gpu, spec, &Inputs::new(&[1f32; 8]).weight(&ties)).unwrap();
        assert_eq!(codes.as_slice().widen(), [0.0, 2.0, 2.0, 0.0, -2.0, 126.0, 127.0, -127.0]);
        let ties: Vec<f32> = (0..0x7eu8).map(|code| ((F8E4M3(code).widen() + F8E4M3(code + 1).widen()) / 2.0) as f32).collect();
        let spec = NormSpec::torch(ties.len() as u64, 0.0).quantized_by(DType::F8E4M3, 1.0);
        let codes = run(gpu, spec, &Inputs::new(&vec![1f32; ties.len()]).weight(&ties)).unwrap();
        let even: Vec<u8> = (0..0x7eu8).map(|code| code + code % 2).collect();
        assert_eq!(*codes.as_slice().bytes(), even);
        // By a scale that is given: 0.5 / 0.01 is a tie for none, 1.58 saturates at 127; FP8 ends at 448.
        let codes = run(gpu, NormSpec::torch(5, 0.0).without_weight().quantized_by(DType::I8, 0.01), &Inputs::new(&row)).unwrap();
        assert_eq!(codes.as_slice().widen(), [50.0, 100.0, -100.0, 50.0, 127.0]);
        let spec = NormSpec::torch(5, 0.0).without_weight().quantized_by(DType::F8E4M3, 1.0 / 512.0);
        let codes = run(gpu, spec, &Inputs::new(&row)).unwrap();
        assert_eq!(codes.as_slice().widen(), [256.0, 448.0, -448.0, 256.0, 448.0]);
        let spoiled = run(gpu, spec, &Inputs::new(&[1.0f32, f32::NAN, 0.0, 0.0, 0.0])).unwrap();
        assert!(spoiled.as_slice().bytes().iter().all(|code| *code == 0x7f), "{spoiled:?}");
    }
}

/// Query and key heads of a fused projection, in place, in one dispatch: the bits of two norms, and the values untouched.
#[test]
fn query_and_key_heads_are_two_norms_in_one() {
    let (query, key, head, tokens) = (6u64, 2u64, 64u64, 9u64);
    let token = (query + 2 * key) * head;
    for gpu in gpus() {
        for dtype in DType::ALL {
            let (projection, weights) = (wave(tokens * token, dtype), wave(2 * head, dtype));
            let fused = upload(gpu, &projection);
            let weight = upload(gpu, &weights);
            let spec = NormSpec::llama((query + key) * head, 1e-6).dtype(dtype).query_and_key_heads(query, key);
            let view = Operand::new(&fused).row_stride(token);
            let prepared = gpu.norm(spec).unwrap().prepare_blocking(&Operands::in_place(view).weight(&weight), tokens).unwrap();
            assert_eq!(prepared.plan().chunks.len(), 1);
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            prepared.record_in(&mut encoder, tokens).unwrap();
            gpu.queue().submit([encoder.finish()]);
            let size = dtype.size();
            let got = gpu.read_blocking(&fused, 0..tokens * token * size).unwrap();
            for at in 0..tokens {
                let row =
                    |from: u64, to: u64| ((at * token + from * head) * size) as usize..((at * token + to * head) * size) as usize;
                for (from, to, first_weight) in [(0, query, 0), (query, query + key, head)] {
                    let spec = NormSpec::llama((to - from) * head, 1e-6).dtype(dtype).heads(to - from);
                    let x = Values::from_bytes(dtype, &projection.as_slice().bytes()[row(from, to)]);
                    let w = weights.as_slice().range(first_weight as usize..(first_weight + head) as usize);
                    let alone = run(gpu, spec, &Inputs::new(&x).weight(w)).unwrap();
                    assert_eq!(got[row(from, to)], *alone.as_slice().bytes(), "{dtype}, token {at}, heads {from}..{to}");
                }
                let values = row(query + key, query + 2 * key);
                assert_eq!(got[values.clone()], projection.as_slice().bytes()[values], "{dtype}, token {at}: the value heads");
            }
        }
    }
}

/// A sum that overflows its dtype, a gate that is shut, a weight of zero: what comes is what the reference says, in all that is
/// written.
#[test]
fn everything_that_is_written_is_checked_together() {
    for gpu in gpus() {
        let spec = NormSpec::gemma(130, 1e-6).dtype(DType::BF16).add_residual(DType::F32).gate_output(DType::F16).rstd();
        for regime in [Regime::Mixed, Regime::AnyFinite, Regime::Spoiled] {
            let data = Data::new(&spec, 20, regime, Weights::AnyFinite);
            let outputs = gpu.norm(spec).unwrap().run_all_blocking(&data.inputs()).unwrap();
            let outcome = check_all(&spec, &data.inputs(), &outputs).unwrap();
            assert!(outcome.passed(), "{regime:?}: {outcome:?}");
            assert_eq!(outcome.elements, 2 * 130 * 20 + 20);
            assert!(check_all(&spec, &data.inputs(), &outputs.clone().with(Slot::Rstd, None)).is_err());
        }
    }
    let spec = NormSpec::torch(4, 1e-6).without_weight();
    assert!(reference::quantized(&spec, &Inputs::new(&[1f32; 4])).is_err());
    assert!(reference::stats(&spec, &Inputs::new(&[1f32; 4])).is_err());
}
