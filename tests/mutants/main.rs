//! Mutation of the kernels: every function of every kernel of the case list with one token changed, and the cases that notice.
//!
//!     cargo test --release --test mutants -- [--adapter NAME] [--share I/N] [--only TEXT] [--cases N]
//!
//! A mutant is killed where a case fails on it; it is stillborn where it does not compile. One that survives is a case that is
//! missing, or changes nothing that anyone may notice: those are listed, with the reason, in `equivalent.txt` beside this file.
//! The run fails where a mutant survives that is not listed.
//!
//! `--share I/N` takes the mutants I, I + N, I + 2N, ... ; `--only` those whose line contains the text; `--cases` is the most cases that a
//! mutant has to survive (200 where left out). Mutants run on a device that checks every index, and one that ends endless loops
//! (lavapipe 22.3.6) is the adapter to take.

mod mutate;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::process::ExitCode;

use mutate::{Mutant, functions, mutants};
use wgpu_rmsnorm::verify::{Case, Status, Tier, cases, kernels, run_case};
use wgpu_rmsnorm::{Gpu, GpuOptions, adapters};

/// Rows times their length that a case may have: thousands of runs are made.
const LARGEST: u64 = 1 << 18;

const EQUIVALENT: &str = include_str!("equivalent.txt");

struct Options {
    adapter: String,
    share: (usize, usize),
    only: String,
    cases: usize,
}

impl Options {
    fn from_args() -> Result<Self, String> {
        let mut options = Self { adapter: "llvmpipe".into(), share: (0, 1), only: String::new(), cases: 200 };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(format!("{name}: expected a value"))?;
            let wrong = || format!("{name}: {value:?} is not one; see the head of tests/mutants/main.rs");
            match name.as_str() {
                "--adapter" => options.adapter = value,
                "--only" => options.only = value,
                "--cases" => options.cases = value.parse().map_err(|_| wrong())?,
                "--share" => {
                    let (index, count) = value.split_once('/').ok_or_else(wrong)?;
                    options.share = (index.parse().map_err(|_| wrong())?, count.parse().map_err(|_| wrong())?);
                    if options.share.0 >= options.share.1 {
                        return Err(wrong());
                    }
                }
                _ => return Err(format!("{name}: no such option; see the head of tests/mutants/main.rs")),
            }
        }
        Ok(options)
    }
}

/// What became of a mutant.
enum Fate {
    /// The case that noticed.
    Killed(usize),
    Stillborn,
    /// How many cases it lived through.
    Survived(usize),
}

fn main() -> ExitCode {
    match Options::from_args().and_then(|options| run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("mutants: {message}");
            ExitCode::from(2)
        }
    }
}

/// Runs the share of the mutants that was asked for. Whether all died or are known to be equivalent.
fn run(options: &Options) -> Result<bool, String> {
    let found = pollster::block_on(adapters(false));
    let adapter = found.iter().find(|adapter| adapter.matches(&options.adapter)).ok_or("no such adapter")?;
    let gpu = pollster::block_on(Gpu::open(adapter, &GpuOptions::default())).map_err(|error| error.to_string())?;
    let gpu = gpu.with_runtime_checks();
    let mut all: Vec<Case> = cases(Tier::Quick).into_iter().filter(|case| case.rows * case.spec.hidden <= LARGEST).collect();
    all.sort_by_key(|case| case.rows * case.spec.hidden);

    let bed = Bed::lay(&gpu, &all);
    let list: Vec<Mutant> = bed.mutants().into_iter().filter(|m| m.to_string().contains(&options.only)).collect();
    let mine: Vec<&Mutant> = list.iter().skip(options.share.0).step_by(options.share.1).collect();
    println!("mutants: {} of {}, of {} functions, by {} cases on {gpu}", mine.len(), list.len(), bed.cases_of.len(), all.len());

    let equivalent = Equivalent::read()?;
    let mut kills = vec![0usize; all.len()];
    let [mut killed, mut stillborn, mut alike, mut survived] = [0usize; 4];
    for (done, mutant) in mine.iter().enumerate() {
        match bed.fate(mutant, &mut kills, options.cases) {
            Fate::Killed(case) => {
                killed += 1;
                kills[case] += 1;
                if equivalent.reasons.contains_key(&mutant.to_string()) {
                    println!("listed as equivalent, and killed by {:?}: {mutant}", all[case].name);
                    survived += 1;
                }
            }
            Fate::Stillborn => stillborn += 1,
            Fate::Survived(_) if equivalent.reasons.contains_key(&mutant.to_string()) => alike += 1,
            Fate::Survived(cases) => {
                survived += 1;
                println!("survived {cases} cases: {mutant}");
            }
        }
        gpu.trim_pipelines(wgpu_rmsnorm::verify::PIPELINES_TO_KEEP);
        if (done + 1) % 50 == 0 {
            println!(
                "mutants: {} run: {killed} killed, {stillborn} stillborn, {alike} equivalent, {survived} survived",
                done + 1
            );
        }
    }
    println!("mutants: {killed} killed, {stillborn} stillborn, {alike} equivalent, {survived} survived");
    Ok(survived == 0)
}

/// The cases, and which of them run which function.
struct Bed<'a> {
    gpu: &'a Gpu,
    cases: &'a [Case],
    cases_of: HashMap<String, Vec<usize>>,
}

impl<'a> Bed<'a> {
    fn lay(gpu: &'a Gpu, cases: &'a [Case]) -> Self {
        let mut cases_of: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, case) in cases.iter().enumerate() {
            let texts: Vec<String> = kernels(gpu, case).into_iter().flatten().map(|shader| shader.wgsl).collect();
            let of_case: HashSet<&str> = texts.iter().flat_map(|text| functions(text)).collect();
            for function in of_case {
                cases_of.entry(function.to_owned()).or_default().push(index);
            }
        }
        Self { gpu, cases, cases_of }
    }

    /// The mutants of all functions, in the order of their texts. Of functions that differ in the operand's name, the dtype's or a number
    /// alone, those of the one that most cases run.
    fn mutants(&self) -> Vec<Mutant> {
        let mut of_kind: HashMap<String, &str> = HashMap::new();
        for function in self.cases_of.keys() {
            let kept = of_kind.entry(kind(function)).or_insert(function);
            let rank = |function: &str| (Reverse(self.cases_of[function].len()), function.to_owned());
            if rank(function) < rank(kept) {
                *kept = function;
            }
        }
        let functions: BTreeSet<&str> = of_kind.into_values().collect();
        functions.into_iter().flat_map(mutants).collect()
    }

    fn fate(&self, mutant: &Mutant, kills: &mut [usize], most: usize) -> Fate {
        let broken = self.gpu.with_fault(&mutant.from, &mutant.to);
        let mut order = self.cases_of[&mutant.from].clone();
        // Those that have noticed the most first; the list's own order among equals, for it begins with the smallest.
        order.sort_by_key(|&case| Reverse(kills[case]));
        let (often, rest) = order.split_at(order.len().min(most / 2));
        // Of the others as many again, from all over the list.
        let step = rest.len().div_ceil(most.div_ceil(2)).max(1);
        let chosen: Vec<usize> = often.iter().copied().chain(rest.iter().copied().step_by(step)).collect();
        for &case in &chosen {
            match pollster::block_on(run_case(&broken, &self.cases[case])).status {
                Status::Passed | Status::Skipped(_) => {}
                Status::Failed(_) => return Fate::Killed(case),
                Status::Broken(message) if message.contains("lost") => return Fate::Killed(case),
                Status::Broken(_) => return Fate::Stillborn,
            }
        }
        Fate::Survived(chosen.len())
    }
}

/// A function's text without what tells operands, dtypes and lengths apart.
fn kind(function: &str) -> String {
    const NAMES: [&str; 22] = [
        "residual_out",
        "grad_output",
        "grad_input",
        "grad_weight",
        "grad_bias",
        "grad_gate",
        "grad_residual",
        "residual",
        "weight",
        "output",
        "input",
        "bias",
        "gate",
        "rstd",
        "mean",
        "scale",
        "statistic",
        "codes",
        "f8e4m3",
        "bf16",
        "f16",
        "f32",
    ];
    let is_generated = mutate::name(function).contains("level");
    let named = NAMES.iter().fold(function.to_owned(), |text, name| text.replace(name, "_"));
    if is_generated { mutate::name(&named).to_owned() } else { named }
}

/// The mutants that nobody may notice, and why.
struct Equivalent {
    reasons: HashMap<String, String>,
}

impl Equivalent {
    /// Blocks of lines: one or more mutants, as they are printed, then an indented reason.
    fn read() -> Result<Self, String> {
        let mut reasons = HashMap::new();
        let mut block: Vec<&str> = Vec::new();
        for line in EQUIVALENT.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            match line.strip_prefix("    ") {
                Some(reason) => reasons.extend(block.drain(..).map(|mutant| (mutant.to_owned(), reason.to_owned()))),
                None => block.push(line),
            }
        }
        if block.is_empty() { Ok(Self { reasons }) } else { Err(format!("equivalent.txt: no reason for {block:?}")) }
    }
}
