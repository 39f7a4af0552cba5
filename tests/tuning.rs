//! Tuning records: reading what may be anything, planning by them, and the bits of what is planned.

#[path = "common/host.rs"]
mod common;

use common::*;
use proptest::prelude::*;
use wgpu_rmsnorm::{Access, Caps, DType, Error, Force, Inputs, Layout, NormSpec, Order, Origin, Plan, Rung, Tuning, Values};

fn origin() -> Origin {
    Origin::new("Some GPU (rev 2)", "some driver", "1.2.3 (LLVM 15)", "Vulkan")
}

/// A record with choices for several norms, and lanes.
fn record() -> Tuning {
    let mut tuning = Tuning::new(origin());
    let spec = NormSpec::torch(4096, 1e-6);
    tuning.set(&spec, 512, Force::default().rung(Rung::Looped).width(8));
    tuning.set(&spec, 1, Force::default().access(Access::Word));
    tuning.set(&spec.dtype(DType::BF16).add_residual(DType::BF16), u64::MAX, Force::default().rung(Rung::Multi));
    tuning.set_lanes(4096, Some(32)).unwrap();
    tuning.set_lanes(7, Some(2)).unwrap();
    tuning
}

fn refused(bytes: &[u8]) -> String {
    match Tuning::from_bytes(bytes) {
        Err(error @ Error::Tuning(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_written_is_read() {
    for tuning in [record(), Tuning::new(origin()), Tuning::new(Origin::new("", "\n a\u{85}b ", " ", ""))] {
        assert_eq!(Tuning::from_bytes(&tuning.to_bytes()).unwrap(), tuning);
    }
    assert_eq!((record().len(), record().changes_bits(), record().is_empty()), (5, true, false));
}

/// One byte changed, or the end cut off, and the record is refused.
#[test]
fn damage_is_seen() {
    let whole = record().to_bytes();
    for length in 0..whole.len() {
        refused(&whole[..length]);
    }
    for index in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[index] ^= 1;
        refused(&damaged);
    }
    let longer = [&whole[..], b"\n"].concat();
    refused(&longer);
    assert!(refused(&vec![b'a'; 2 << 20]).contains("at most 1048576 bytes"));
    assert!(refused(b"\xff\xfe").contains("text in UTF-8"));
    assert!(refused(b"").contains("header"));
    assert!(refused(b"wgpu-rmsnorm tuning 2\n").contains("expected \"wgpu-rmsnorm tuning 1\""));
}

/// A record with a checksum that is right, whatever it says.
fn signed(body: &str) -> Vec<u8> {
    let sum = body.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{body}checksum {sum:016x}\n").into_bytes()
}

const HEAD: &str =
    concat!("wgpu-rmsnorm tuning 1\nversion ", env!("CARGO_PKG_VERSION"), "\nadapter a\ndriver b\ndriver_version c\nbackend d\n");

#[test]
fn lines_that_make_no_sense_are_refused() {
    Tuning::from_bytes(&signed(HEAD)).unwrap();
    for line in [
        "lanes 4096 3",
        "lanes 4096 4096",
        "lanes 8 32",
        "lanes x 32",
        "lanes 4096 32 32",
        "lanes 4096 32\nlanes 4096 64",
        "choice 3 norm rung=solo",
        "choice 0 norm rung=solo",
        "choice 4 norm",
        "choice 4  rung=solo",
        "choice 4 norm rung=none",
        "choice 4 norm width=0",
        "choice 4 norm width=-1",
        "choice 4 norm height=1",
        "choice 4 norm width",
        "choice 4 norm width=1\nchoice 4 norm width=2",
        "other 4",
        "",
        "\u{1b}[31m",
    ] {
        let message = refused(&signed(&format!("{HEAD}{line}\n")));
        assert!(message.contains("line: expected") && !message.contains('\u{1b}'), "{line:?}: {message}");
    }
    let old = HEAD.replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    let message = refused(&signed(&old));
    assert!(message.contains("version: expected") && message.contains("0.0.1") && message.contains("tune"), "{message}");
    assert!(refused(&signed(&HEAD.replace("driver b\n", ""))).contains("driver: expected"));
}

/// Lanes are those in which rows of that length are summed, and no others.
#[test]
fn lanes_that_a_row_has_not_are_refused() {
    let mut tuning = Tuning::new(origin());
    for (length, lanes) in [(4096, 0), (4096, 24), (4096, 2048), (8, 4), (1 << 24, 2)] {
        let error = tuning.set_lanes(length, Some(lanes)).unwrap_err().to_string();
        assert!(error.contains("lanes: expected one of"), "{error}");
    }
    for lanes in Order::lanes_of(4096) {
        tuning.set_lanes(4096, Some(lanes)).unwrap();
        assert_eq!(tuning.lanes(4096), Some(lanes));
    }
    tuning.set_lanes(4096, None).unwrap();
    assert!(tuning.is_empty() && !tuning.changes_bits());
}

proptest! {
    /// Whatever the bytes are, reading them ends in a record or in an error.
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = Tuning::from_bytes(&bytes);
    }

    /// The same for bytes that get as far as the entries, and what is read is written as it was meant.
    #[test]
    fn any_entries_are_read(
        lines in prop::collection::vec("(lanes|choice|x) [0-9x]{1,22} [ -~]{0,40}( rung=solo| width=[0-9]{1,12}| access=word){0,3}", 0..6)
    ) {
        let body = lines.iter().fold(HEAD.to_owned(), |body, line| format!("{body}{line}\n"));
        if let Ok(tuning) = Tuning::from_bytes(&signed(&body)) {
            prop_assert_eq!(Tuning::from_bytes(&tuning.to_bytes()).unwrap(), tuning);
        }
    }
}

/// A record serves the device it was measured on.
#[test]
fn a_record_of_another_device_is_refused() {
    for gpu in gpus() {
        assert!(gpu.tuning().is_none());
        gpu.with_tuning(Tuning::new(gpu.origin())).unwrap();
        let error = gpu.with_tuning(record()).unwrap_err();
        let message = error.to_string();
        assert!(matches!(&error, Error::Tuning(detail) if detail.argument == "adapter" && detail.actual == "Some GPU (rev 2)"));
        assert!(message.contains(&gpu.origin().to_string().split(" (").next().unwrap().to_owned()), "{message}");
        let info = gpu.info();
        let updated = Origin::new(&info.name, &info.driver, "99.9", &format!("{:?}", info.backend));
        let error = gpu.with_tuning(Tuning::new(updated)).unwrap_err();
        assert!(matches!(&error, Error::Tuning(detail) if detail.argument == "driver_version"), "{error}");
        still_works(gpu);
    }
}

/// Choices hold for a norm whatever its numbers, for all rows of a power of two, and for no other norm.
#[test]
fn a_choice_is_for_a_kernel_and_a_power_of_two_of_rows() {
    let spec = NormSpec::gemma(512, 1e-6).dtype(DType::F16);
    let choice = Force::default().rung(Rung::Looped).width(4);
    let mut tuning = Tuning::new(origin());
    tuning.set(&spec, 100, choice);
    for rows in [64, 100, 127] {
        assert_eq!(tuning.choice(&spec, rows), Some(choice));
    }
    for rows in [0, 63, 128, u64::MAX] {
        assert_eq!(tuning.choice(&spec, rows), None);
    }
    assert_eq!(tuning.choice(&NormSpec::gemma(512, 0.5).dtype(DType::F16).weight_offset(0.0), 64), Some(choice));
    for other in [
        NormSpec::gemma(513, 1e-6).dtype(DType::F16),
        NormSpec::layer_norm(512, 1e-6).dtype(DType::F16),
        spec.weight(DType::F32),
        spec.without_weight(),
        spec.bias(DType::F16),
        spec.add_residual(DType::F16),
        spec.then_add_residual(DType::F16),
        spec.gate_output(DType::F16),
        spec.groups(2),
        spec.heads(2),
        spec.partial(256),
        spec.rstd(),
        spec.quantized(DType::I8),
        spec.output(DType::F32),
        spec.cast(wgpu_rmsnorm::CastOrder::ToInput),
    ] {
        assert_eq!(tuning.choice(&other, 64), None, "{other:?}");
    }
    tuning.set(&spec, 100, Force::default());
    assert!(tuning.is_empty());
}

/// The plan has the recorded choice and says so; what does not apply is left out, and what the caller forces comes first.
#[test]
fn plans_follow_the_record() {
    let caps = Caps::webgpu_defaults();
    let spec = NormSpec::torch(4096, 1e-6);
    let layout = Layout::contiguous(&spec, 600);
    let tuned = |tuning: &Tuning, force| Plan::tuned(&spec, &caps, &layout, 600, force, tuning);
    let plan = tuned(&record(), Force::default()).unwrap();
    assert_eq!((plan.rung, plan.width, plan.order.lanes), (Rung::Looped, 8, 32));
    assert!(plan.tuned.choice && plan.tuned.lanes);
    let text = plan.to_string();
    assert!(text.contains("because the tuning record says so") && text.contains("rung=looped, width=8"), "{text}");
    assert!(text.contains("joined by a tree, as the tuning record says"), "{text}");

    let forced = tuned(&record(), Force::default().rung(Rung::Multi)).unwrap();
    assert_eq!((forced.rung, forced.order.lanes, forced.tuned.choice), (Rung::Multi, 32, false));
    assert!(forced.to_string().contains("because it was asked for"));

    // A rung that this device does not plan.
    let mut tuning = Tuning::new(origin());
    tuning.set(&spec, 600, Force::default().rung(Rung::Multi));
    let caps = Caps { rungs: wgpu_rmsnorm::Rungs { multi: false, ..caps.rungs }, ..caps };
    let plan = Plan::tuned(&spec, &caps, &layout, 600, Force::default(), &tuning).unwrap();
    assert_eq!(plan, Plan::new(&spec, &caps, &layout, 600).unwrap());
}

/// On every adapter: a tuned norm is prepared and run by the record, with the bits of the plan's own choice.
#[test]
fn choices_change_no_bit() {
    for gpu in gpus() {
        let spec = NormSpec::llama(300, 1e-5).dtype(DType::F16);
        let (x, w) = (wave(300 * 40, DType::F16), wave(300, DType::F16));
        let inputs = Inputs::new(&x).weight(&w);
        let own = run(gpu, spec, &inputs).unwrap();
        let layout = Layout::contiguous(&spec, 40);
        for rung in Rung::ALL {
            let choice = Force::default().rung(rung).width(4).access(Access::Word);
            if gpu.norm(spec).unwrap().plan_with(&layout, 40, choice).is_err() {
                continue;
            }
            let mut tuning = Tuning::new(gpu.origin());
            tuning.set(&spec, 40, choice);
            let tuned = gpu.with_tuning(tuning).unwrap();
            let plan = tuned.norm(spec).unwrap().plan(&layout, 40).unwrap();
            assert!(plan.tuned.choice && plan.rung == rung && plan.width <= 4, "{plan}");
            assert_eq!(run(&tuned, spec, &inputs).unwrap(), own, "{rung:?}");
        }
    }
}

/// Lanes change bits, of all rungs and batches alike, and never what is right.
#[test]
fn lanes_change_bits_once() {
    for gpu in gpus() {
        let spec = NormSpec::torch(1000, 1e-6);
        let (x, w) = (wave(1000 * 33, DType::F32), wave(1000, DType::F32));
        let inputs = Inputs::new(&x).weight(&w);
        let own = run(gpu, spec, &inputs).unwrap();
        let mut differing = 0;
        for lanes in [2, 32, 256] {
            let mut tuning = Tuning::new(gpu.origin());
            tuning.set_lanes(1000, Some(lanes)).unwrap();
            let tuned = gpu.with_tuning(tuning).unwrap();
            let whole = run(&tuned, spec, &inputs).unwrap();
            assert!(wgpu_rmsnorm::verify::check(&spec, &inputs, whole.as_slice()).unwrap().passed(), "{lanes} lanes");
            differing += usize::from(whole != own);
            // Alone, and on every rung, a row has these bits.
            let alone = Values::round_from(DType::F32, &x.as_slice().widen()[..1000]);
            let alone = run(&tuned, spec, &Inputs::new(&alone).weight(&w)).unwrap();
            assert_eq!(alone.as_slice().bytes(), &whole.as_slice().bytes()[..4000], "{lanes} lanes");
            for rung in [Rung::Multi, Rung::Solo].into_iter().filter(|rung| *rung != Rung::Solo || lanes <= 32) {
                let forced = tuned.norm(spec).unwrap();
                let forced = pollster::block_on(forced.run_with(&inputs, Force::default().rung(rung))).unwrap();
                assert_eq!(forced.into_output(), whole, "{rung:?} {lanes}");
            }
        }
        assert!(differing > 0, "another order rounds elsewhere");
    }
}
