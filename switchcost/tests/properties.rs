//! Properties of everything that parses: no input makes it panic, and what is printed is read back as it was.
//!
//! The inputs are drawn from a fixed seed, so that a change is judged by the same ones on every
//! machine; `PROPTEST_RNG_SEED=N` and `PROPTEST_CASES=N` draw others, and more of them. A failing input belongs in
//! an ordinary test, as text.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use ::limits::Limits;
use clap::ValueEnum;
use contract::message::{Answer, Description, Need, Needs, Request};
use figures::Figures;
use host::units::{Bytes, Quantity, Span};
use observe::cpu_map::CpuMap;
use observe::machine;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use record::Metric;
use serde::Serialize;
use serde::de::DeserializeOwned;
use switchcost::measure::store;
use switchcost::plan::change::Change;
use switchcost::plan::{BUILT_IN, Plan, range, values};
use switchcost::render;
use switchcost::views::answer;
use tempfile::TempDir;

/// So many inputs, always the same ones unless the environment asks for others.
fn inputs(cases: u32) -> ProptestConfig {
    let of_environment = ProptestConfig::default();
    let is_set = |name: &str| std::env::var_os(name).is_some();
    ProptestConfig {
        cases: if is_set("PROPTEST_CASES") { of_environment.cases } else { cases },
        rng_seed: if is_set("PROPTEST_RNG_SEED") {
            of_environment.rng_seed
        } else {
            RngSeed::Fixed(20_240_229)
        },
        failure_persistence: None,
        ..of_environment
    }
}

/// One of the texts with a few of its words replaced: most of what is wrong is nearly right.
fn mutated<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> impl Strategy<Value = String> {
    let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
    let short =
        ["", "0", "-1", "NaN", "1e999", "0.1", "null", "max", "\"", "'", "=", "\0", "..", "[[[["];
    let others = ["\u{1b}[2J", "\n\n", "4294967296", "18446744073709551616"];
    let known: Vec<&str> = short.into_iter().chain(others).collect();
    let word = prop_oneof![
        4 => select(known).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ];
    let changes = prop::collection::vec((any::<Index>(), word), 0..4);
    (select(texts), changes, prop::option::weighted(0.1, any::<Index>())).prop_map(
        |(text, changes, end)| {
            let is_separator = |c: char| " \t\n,:;=-./\"'[]{}()".contains(c);
            let mut words: Vec<&str> = text.split_inclusive(is_separator).collect();
            for (at, word) in &changes {
                let at = at.index(words.len());
                words[at] = word;
            }
            words.truncate(end.map_or(words.len(), |end| end.index(words.len())));
            words.concat()
        },
    )
}

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

/// A header with processes of several of its cases.
fn records() -> String {
    let text = fixture("plan.jsonl");
    let (header, processes) = text.split_once('\n').unwrap();
    let some = processes.lines().step_by(7).map(|line| format!("\n{line}"));
    [header.to_owned()].into_iter().chain(some).collect()
}

/// Printed as JSON, a thing is read as it was.
fn reads_as_it_prints<T: Serialize + DeserializeOwned + PartialEq + Debug>(thing: &T) {
    let text = serde_json::to_string(thing).unwrap();
    let again: T = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(&again, thing, "{text}");
}

/// A system, unpacked from one text: `=== path` before each file.
pub(crate) fn unpacked(text: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for part in text.split("=== ") {
        let (path, content) = part.split_once('\n').unwrap_or((part, ""));
        let file = root.path().join(path.trim_start_matches('/'));
        let is_inside = !path.contains("..") && !path.contains('\0');
        if let Some(folder) = file.parent().filter(|_| is_inside)
            && fs::create_dir_all(folder).is_ok()
            && let Ok(mut file) = File::create(&file)
        {
            file.write_all(content.as_bytes()).unwrap();
        }
    }
    root
}

/// Systems in miniature.
fn systems() -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let names = |folder: &'static str| {
        let entries =
            fs::read_dir(format!("{}/tests/fixtures/{folder}", env!("CARGO_MANIFEST_DIR")));
        entries.unwrap().map(move |entry| format!("{folder}/{}", name(entry.unwrap())))
    };
    let mut names: Vec<String> = names("kernels").chain(names("systems")).collect();
    names.sort();
    names.iter().map(|name| fixture(name)).collect()
}

/// Values of flags, one a line.
const FLAGS: &str = "0-3,7
16MiB
1..1000
hop
extra.to_end.p99
1.5ms
MALLOC_ARENA_MAX=2
cpus=0-1
policy=batch
wrap='nice -n 5'";

const DESCRIPTION: &str = r#""contract":1,"program":"p","version":"0.2.0","tasks":2,"bytes":1,"hops":3,"claim":"kernel-switch","passes":[{"name":"main","settle":3}],"needs":{"descriptors":{"fixed":18,"each":2},"bytes":{"fixed":4194306,"each":49153}}}"#;

/// Lines of both sides of the contract.
fn lines() -> Vec<String> {
    let others = [
        r#"{"at":"ran","samples_ns":[17533,17563],"usage":{"user_ns":20000,"system_ns":20000,"voluntary_switches":4,"involuntary_switches":4,"minor_faults":0,"major_faults":0}}"#,
        r#"{"at":"held","pids":[7621]}"#,
        r#"{"at":"ended","teardown_ns":176530}"#,
        "run 20 main",
    ];
    let ready =
        format!(r#"{{"at":"ready","pids":[7621],"setup_ns":227,"first_ns":876,{DESCRIPTION}"#);
    [ready, format!("{{{DESCRIPTION}")].into_iter().chain(others.map(str::to_owned)).collect()
}

proptest! {
    #![proptest_config(inputs(64))]

    #[test]
    fn records_are_read(file in mutated([records()])) {
        let contents = store::parse(file.as_bytes()).unwrap();
        contents.runs.iter().for_each(|run| reads_as_it_prints(&**run));
        contents.records.iter().for_each(|record| reads_as_it_prints(&record.trial));
        let figures = Figures::of(&contents.records);
        let answer = answer::Answer::of(&figures);
        let answer = answer.as_ref();
        let mut out = Vec::new();
        let report = render::FiguresReport { figures: &figures, answer, full: true, more: None };
        for format in render::Format::value_variants() {
            format.write(&report, &mut out).unwrap();
        }
    }

    #[test]
    fn kernels_are_read(files in mutated(systems())) {
        let root = unpacked(&files);
        let machine = machine::read_under(root.path());
        reads_as_it_prints(&machine);
        assert!(!machine.summary().is_empty() && machine.same_machine(&machine).is_empty());
        let map = CpuMap::of(&::host::source::Source::new(root.path()));
        for &cpu in map.cpus.keys().take(16) {
            assert_eq!(map.relation(cpu, 0), map.relation(0, cpu));
        }
        enough_is_the_tightest(root.path());
    }

    #[test]
    fn plans_are_read(text in mutated(BUILT_IN.iter().map(|plan| plan.text))) {
        for row in Plan::parse(&text).map(|plan| plan.rows()).unwrap_or_default() {
            assert!(!row.place.name().contains(char::is_control));
            assert!(row.effort.most_rounds() > 0);
            reads_as_it_prints(&row);
        }
    }
}

/// Limits of a system suffice for as many tasks as the tightest of them has room for.
fn enough_is_the_tightest(root: &Path) {
    let limits = Limits::read_under(root);
    let needs = Needs {
        descriptors: Need::new(20, 2),
        threads: Need::new(0, 1),
        maps: Need::new(128, 4),
        bytes: Need::new(1 << 20, 50_000),
        ..Needs::default()
    };
    for tasks in [1, 2, u64::from(u32::MAX), u64::MAX] {
        let most = limits.tightest(&needs).map_or(u64::MAX, |(_, most)| most);
        assert_eq!(limits.too_low(&needs, tasks).is_empty(), tasks <= most, "{tasks} of {most}");
    }
}

proptest! {
    #![proptest_config(inputs(512))]

    #[test]
    fn flags_are_read(nearly in mutated(FLAGS.lines()), text in "\\PC*") {
        for text in [nearly, text] {
            if let Ok(cpus) = values::cpus(&text) {
                assert_eq!(cpus.to_string().parse(), Ok(cpus));
            }
            if let Ok(ends) = range::parse(&text) {
                let points = range::points(&ends, 300);
                assert!(points.len() <= 300 && points.is_sorted_by(|a, b| a < b), "{points:?}");
            }
            if let Ok(metric) = text.parse::<Metric>() {
                assert_eq!(metric.to_string().parse(), Ok(metric));
            }
            if let Ok(change) = text.parse::<Change>() {
                // A shell reads it as one word.
                let words = shlex::split(&change.to_string()).unwrap_or_default();
                assert_eq!(words.len(), 1, "{change}");
                assert_eq!(words[0].parse(), Ok(change));
            }
            if let Ok(Span(ns)) = text.parse() {
                assert_eq!(format!("{ns}ns").parse(), Ok(Span(ns)));
            }
            if let Ok(Bytes(bytes)) = text.parse() {
                assert_eq!(format!("{bytes}").parse(), Ok(Bytes(bytes)));
            }
        }
    }

    #[test]
    fn the_contract_is_read(line in mutated(lines())) {
        if let Ok(answer) = serde_json::from_str::<Answer>(&line) {
            reads_as_it_prints(&answer);
        }
        if let Ok(description) = serde_json::from_str::<Description>(&line) {
            reads_as_it_prints(&description);
        }
        if let Ok(request) = Request::parse(&line) {
            assert_eq!(Request::parse(&request.to_string()), Ok(request));
        }
    }

    #[test]
    fn quantities_print_whatever_they_are(value in any::<f64>(), other in any::<f64>()) {
        let texts = [Quantity::Time.show(value), Quantity::Bytes.like(value, other)];
        prop_assert!(texts.iter().all(|text| !text.is_empty()));
    }
}
