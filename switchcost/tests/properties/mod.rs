//! Properties of everything that parses: no input makes it panic, and what is printed is read back as it was.
//!
//! The inputs are drawn from a fixed seed, so that a change is judged by the same ones on every
//! machine; `PROPTEST_RNG_SEED=N` and `PROPTEST_CASES=N` draw others, and more of them, and `fuzz/` searches
//! for further ones. A failing input is not kept in a file of seeds, which would mean another input after any
//! change of its strategy: it belongs in an ordinary test, as text.

use std::fs;

use contract::units::{self, Bytes, Nanos};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use switchcost::plan::BUILT_IN;

mod invariants;

pub(crate) use invariants::unpacked;

/// So many inputs, always the same ones unless the environment asks for others.
fn inputs(cases: u32) -> ProptestConfig {
    let of_environment = ProptestConfig::default();
    let is_set = |name: &str| std::env::var_os(name).is_some();
    ProptestConfig {
        cases: if is_set("PROPTEST_CASES") { of_environment.cases } else { cases },
        rng_seed: match is_set("PROPTEST_RNG_SEED") {
            true => of_environment.rng_seed,
            false => RngSeed::Fixed(20_240_229),
        },
        failure_persistence: None,
        ..of_environment
    }
}

/// Numbers at which arithmetic goes wrong, among those at which it does not.
fn number() -> impl Strategy<Value = u64> {
    let wrong = [u64::MAX, u64::MAX - 1, 1 << 63, u64::from(u32::MAX), 1 << 53];
    prop_oneof![any::<u64>(), 0..20_u64, prop::sample::select(wrong.to_vec())]
}

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

/// A header with processes of several of its cases.
fn records() -> Vec<String> {
    let text = fixture("plan.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    let some = |step: usize| {
        lines[1..].iter().step_by(step).fold(lines[0].to_owned(), |all, l| all + "\n" + l)
    };
    vec![lines[..2].join("\n"), some(5), some(11)]
}

const SYSTEMS: [&str; 7] = [
    "kernels/4.19-cgroup-v1.txt",
    "kernels/5.10-hidepid.txt",
    "kernels/6.1-arm64.txt",
    "kernels/6.1-hybrid.txt",
    "systems/debian.txt",
    "systems/docker.txt",
    "systems/kubernetes.txt",
];

const FLAGS: [&str; 12] = [
    "0-3,7",
    "2",
    "16MiB",
    "4096",
    "1..1000",
    "100",
    "hop",
    "extra.to_end.p99",
    "5 %",
    "90s",
    "1.5ms",
    "thread-brigade --tasks 20",
];

const SETTINGS: [&str; 6] = [
    "MALLOC_ARENA_MAX=2",
    "cpus=0-1",
    "policy=batch",
    "slack=1us",
    "wrap='nice -n 5'",
    "seccomp=docker",
];

const DESCRIPTION: &str = r#""contract":1,"program":"p","version":"0.2.0","tasks":2,"bytes":1,"hops":3,"claim":"kernel-switch","passes":[{"name":"main","settle":3}],"needs":{"descriptors":{"fixed":18,"each":2},"bytes":{"fixed":4194306,"each":49153}}}"#;

/// Lines of both sides of the contract.
fn lines() -> Vec<String> {
    let others = [
        r#"{"at":"ran","samples_ns":[17533,17563],"usage":{"user_ns":20000,"system_ns":20000,"voluntary_switches":4,"involuntary_switches":4,"minor_faults":0,"major_faults":0}}"#,
        r#"{"at":"held","pids":[7621]}"#,
        r#"{"at":"ended","teardown_ns":176530}"#,
        "run 20 main",
        "hold",
    ];
    let ready =
        format!(r#"{{"at":"ready","pids":[7621],"setup_ns":227,"first_ns":876,{DESCRIPTION}"#);
    let described = format!("{{{DESCRIPTION}");
    [ready, described].into_iter().chain(others.map(str::to_owned)).collect()
}

/// Words at which readers go wrong.
const WORDS: [&str; 17] = [
    "",
    "-0",
    "-1",
    "NaN",
    "inf",
    "1e999",
    "0.1",
    "null",
    "max",
    "\"",
    "\\",
    "\"\\ud800\"",
    "\u{202e}",
    "\0",
    "\n\n",
    "../../etc/passwd",
    "18446744073709551616",
];

/// One of the texts with some words in the place of others, or cut: most of what is wrong is nearly right.
fn mutated<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> impl Strategy<Value = Vec<u8>> {
    let texts: Vec<Vec<u8>> = texts.into_iter().map(|text| text.as_ref().to_vec()).collect();
    let word = prop_oneof![
        4 => prop::sample::select(WORDS.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        3 => number().prop_map(|number| number.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 1..8),
        1 => Just(b"[".repeat(20_000)),
    ];
    let change = (any::<Index>(), prop::option::weighted(0.9, word));
    (prop::sample::select(texts), prop::collection::vec(change, 0..6))
        .prop_map(|(text, changes)| changes.into_iter().fold(text, changed))
}

/// A text with a word in the place of another, or that ends before it.
fn changed(text: Vec<u8>, (at, word): (Index, Option<Vec<u8>>)) -> Vec<u8> {
    let is_part = |byte: &u8| !b" \t\n,:;=-./\"'[]{}()".contains(byte);
    let at = at.index(text.len() + 1);
    let (before, rest) = text.split_at(at);
    let end = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
    let begin = before.iter().rposition(|byte| !is_part(byte)).map_or(0, |gap| gap + 1);
    match word {
        Some(word) => [&before[..begin], &word, &rest[end..]].concat(),
        None => before.to_vec(),
    }
}

proptest! {
    #![proptest_config(inputs(96))]

    #[test]
    fn records_are_read(file in mutated(records())) {
        invariants::records(&file);
    }

    #[test]
    fn kernels_are_read(files in mutated(SYSTEMS.map(fixture))) {
        invariants::system(&files);
    }
}

proptest! {
    #![proptest_config(inputs(256))]

    #[test]
    fn plans_are_read(plan in mutated(BUILT_IN.iter().map(|plan| plan.text))) {
        invariants::plan(&String::from_utf8_lossy(&plan));
    }
}

proptest! {
    #![proptest_config(inputs(1024))]

    #[test]
    fn flags_and_settings_are_read(
        flag in mutated(FLAGS), change in mutated(SETTINGS), text in "\\PC*",
    ) {
        for text in [String::from_utf8_lossy(&flag), String::from_utf8_lossy(&change), text.into()] {
            invariants::flag(&text);
            invariants::setting(&text);
        }
    }

    #[test]
    fn the_contract_is_read(line in mutated(lines())) {
        invariants::contract(&line);
    }

    #[test]
    fn quantities_print_whatever_they_are(value in any::<f64>(), other in any::<f64>(), bytes in number()) {
        let texts = [
            Nanos(value).to_string(),
            format!("{:>12.3}", Nanos(value)),
            Nanos(value).like(other),
            units::bytes(value),
            units::bytes_like(value, other),
            Bytes(bytes).to_string(),
        ];
        prop_assert!(texts.iter().all(|text| !text.is_empty()));
    }

    #[test]
    fn a_size_in_units_is_that_many_bytes(count in 0..1_u64 << 20, unit in 0..5_usize) {
        let names = ["", "k", "MiB", "G", "tib"];
        let read: Bytes = format!("{count}{}", names[unit]).parse().unwrap();
        prop_assert_eq!(read.0, count << (10 * unit));
    }
}
