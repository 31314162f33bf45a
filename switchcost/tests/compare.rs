//! `switchcost compare`: that it finds what is there, and does not find what is not.

#![allow(clippy::unwrap_used, reason = "the helpers of a test may panic as the test itself")]

// By path, so that this file can be a test by itself as well as a module of one.
#[path = "compare/honesty.rs"]
mod honesty;
#[path = "compare/synthetic.rs"]
mod synthetic;
#[path = "compare/yardsticks.rs"]
mod yardsticks;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use contract::message::Usage;
use facts::{Also, Memory, MemoryChange, Metric, Record, distribution};
use switchcost::figures::Figures;
use switchcost::figures::verdict::{Reason, Verdict};
use switchcost::measure::store::Store;

use synthetic::{Noise, centre, draw, edit, file, pair, record, text, verdicts, worse_than};

fn set_peak(record: &mut Record, bytes: u64) {
    let held = Memory { peak_resident: Some(bytes), ..Memory::default() };
    record.process.memory = Some(MemoryChange { before: Memory::default(), held: Some(held) });
}

/// Ten runs with all that further columns show.
fn with_further_columns(hop: f64, switches: u64, resident: u64) -> Vec<Record> {
    let also = [
        ("rate", Metric::Rate),
        ("throughput", Metric::Throughput),
        ("switches", Metric::Switches),
        ("peak", Metric::Peak),
        ("alive", "extra.alive_count.max".parse().unwrap()),
        ("late", "extra.late.max".parse().unwrap()),
    ];
    let also = also.map(|(name, metric)| Also { name: name.to_owned(), metric });
    let run = |k: u32| {
        let each = u64::from(k % 3);
        let mut record = record(0, k, hop + f64::from(k % 3));
        edit(&mut record, |run, _| run.plan.sections[0].also = also.to_vec());
        record.process.bytes = Some(4096);
        set_peak(&mut record, resident + 4096 * each);
        let alive = distribution(&[10]).unwrap();
        record.process.extra.insert("alive_count".to_owned(), alive);
        record.process.usage =
            Some(Usage { voluntary_switches: switches + each, ..Usage::default() });
        record
    };
    (0..10).map(run).collect()
}

#[test]
fn what_is_better_depends_on_the_quantity() {
    use Verdict::{Less, More, Within};
    let old = with_further_columns(1000.0, 100, 8 << 20);
    let new = with_further_columns(1500.0, 300, 6 << 20);
    let comparison = pair(&old, &new);
    // Nothing tells how late anything was, so that there is no line for it.
    assert_eq!(verdicts(&comparison), [More, Less, Less, More, Less, Within(0.0)]);
    let back = pair(&new, &old);
    assert_eq!(verdicts(&back), [Less, More, More, Less, More, Within(0.0)]);
    for (comparison, tally) in [
        (&comparison, "\n3 slower, 1 more, 1 less, 1 unchanged\n"),
        (&back, "\n3 faster, 1 fewer, 1 more, 1 unchanged\n"),
    ] {
        assert!(text(comparison).contains(tally), "{}", text(comparison));
    }
    let text = text(&comparison);
    for words in [
        "case 0, rate",
        "999.1 k/s [998.5, 999.7]",
        "666.3 k/s [666.0, 666.5]",
        "100.9 [100.3, 101.5]",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // A rate that falls to two thirds takes half as much time again: the gate sees one and the same.
    assert_eq!(worse_than(&comparison, 0.45), ["case 0", "case 0, rate", "case 0, throughput"]);
    assert!(worse_than(&comparison, 0.55).is_empty());
}

#[test]
fn further_columns_have_no_baseline() {
    let mut records = with_further_columns(1000.0, 100, 8 << 20);
    for mut baseline in with_further_columns(400.0, 1, 8 << 20) {
        baseline.process.case = 1;
        records.push(baseline);
    }
    for record in &mut records[..10] {
        edit(record, |run, case| {
            run.plan.cases[case].baseline = Some("case 1".to_owned());
            run.plan.cases[case].versus = Some("case 1".to_owned());
        });
    }
    let figures = Figures::of(&records);
    for figure in figures.iter().filter(|figure| figure.key.row == "case 0") {
        let Some(reading) = figure.reading() else {
            assert_eq!(figure.key.column, "late");
            continue;
        };
        let own = !figure.runs.is_further();
        assert_eq!([reading.net.is_some(), reading.ratio.is_some()], [own; 2]);
        assert_eq!(reading.iterations.is_some(), own);
    }
}

#[test]
fn what_cannot_be_compared_says_why() {
    let plain = |case: u32| (0..10).map(move |k| record(case, k, 1000.0 + f64::from(k)));
    let two = |case: u32| {
        (0..10).map(move |k| record(case, k, if k < 5 { 1000.0 } else { 2000.0 } + f64::from(k)))
    };
    let failing = |case: u32| {
        (0..10).map(move |k| {
            let mut record = record(case, k, 1.0);
            record.process.error = Some("no memory".to_owned());
            record
        })
    };
    let few = |case: u32| plain(case).take(4);
    let old: Vec<Record> = plain(0).chain(plain(1)).chain(plain(2)).chain(plain(3)).collect();
    let new: Vec<Record> = two(0).chain(failing(1)).chain(few(2)).chain(plain(4)).collect();
    let comparison = pair(&old, &new);
    let reasons = [Reason::TwoModes, Reason::FewRounds].map(Verdict::Inconclusive);
    assert_eq!(verdicts(&comparison), reasons);
    let text = text(&comparison);
    for said in [
        "2 no verdict, 2 failed, 1 left out",
        "case 0: two modes",
        "case 2: under 5 rounds",
        "Failed: case 1 (B: no memory)",
        "Failed: case 3 (not in B)",
        "Left out: case 4 (not in A)",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

#[test]
fn another_machine_build_or_flag_is_marked() {
    let mut old = file(2, 5);
    for record in &mut old {
        edit(record, |run, _| {
            run.machine.kernel_release = Some("6.1.0".to_owned());
            run.build.git_revision = Some("abc".to_owned());
        });
        record.process.cpus = Some("0".to_owned());
    }
    assert!(!text(&pair(&old, &old)).contains("DIFFERENT"));
    let mut new = old.clone();
    for record in &mut new {
        edit(record, |run, _| {
            run.machine.kernel_release = Some("6.12.0".to_owned());
            run.build.git_revision = Some("def".to_owned());
        });
        record.process.args = ["--bytes=25".to_owned()].into();
        record.process.policy = Some("fifo".to_owned());
    }
    let text = text(&pair(&old, &new));
    for said in [
        "!! DIFFERENT MACHINE OR SETTINGS: kernel_release: 6.1.0 → 6.12.0",
        "!! DIFFERENT BUILD: git_revision: abc → def",
        "!! DIFFERENT FLAGS: 'case 0' and 1 more: synthetic, CPUs 0 → synthetic --bytes=25, CPUs 0, policy fifo",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

fn write(path: PathBuf, records: &[Record]) -> PathBuf {
    let mut store = Store::append_to(&path).unwrap();
    store.append(&*records[0].header).unwrap();
    for record in records {
        store.append(&record.process).unwrap();
    }
    path
}

fn switchcost(verb: &[&str], files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_switchcost"))
        .arg("compare")
        .args(files)
        .args(verb)
        .output()
        .unwrap()
}

#[test]
fn the_gate_fails_where_a_case_is_worse_beyond_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let mut noise = Noise::of(12);
    let mut files = [file(3, 10), file(3, 10)];
    for (file, factor) in files.iter_mut().zip([1.0, 1.1]) {
        let mean = |case| centre(case) * if case == 1 { factor } else { 1.0 };
        draw(file, |case| mean(case) * noise.factor(0.01));
    }
    let [old, new] = files;
    let old = write(folder.path().join("old.jsonl"), &old);
    let new = write(folder.path().join("new.jsonl"), &new);
    let files = [old.as_path(), new.as_path()];
    for (limit, status) in [
        ("5%", 1),
        ("5", 1),
        ("0.5%", 1),
        ("0", 1),
        // About 10 %: the estimate may lie above 9.9 %, but not all of its interval.
        ("9.9%", 0),
        ("50%", 0),
    ] {
        let output = switchcost(&["--fail-above", limit], &files);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{limit}: {stderr}");
        assert_eq!(stderr.contains("case 1"), status == 1, "{stderr}");
        assert!(!stderr.contains("case 0") && !stderr.contains("case 2"), "{stderr}");
        assert!(!output.stdout.is_empty());
    }
    // A case that is missing is untested, which is not worse.
    let two = write(folder.path().join("two.jsonl"), &file(2, 10));
    let three = write(folder.path().join("three.jsonl"), &file(3, 10));
    let lost = switchcost(&["--fail-above", "5%"], &[&three, &two]);
    assert_eq!(lost.status.code(), Some(125));
    // The other way round it is faster, which is no fault.
    let back = switchcost(&["--fail-above", "0"], &[&new, &old]);
    assert_eq!(back.status.code(), Some(0));
    for limit in ["five", "-1%", ""] {
        let output = switchcost(&[&format!("--fail-above={limit}")], &files);
        assert_eq!(output.status.code(), Some(2), "{limit}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("--fail-above"));
    }
}

#[test]
fn a_gate_without_a_verdict_ends_with_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let old = write(folder.path().join("old.jsonl"), &file(1, 3));
    let noisy =
        |k: u32| record(0, k, if k.is_multiple_of(2) { 1000.0 } else { 1300.0 } + f64::from(k));
    let noisy: Vec<Record> = (0..6).map(noisy).collect();
    let of_cpu = |model: &str| {
        let mut records = file(1, 10);
        for record in &mut records {
            edit(record, |run, _| run.machine.cpu_model = Some(model.to_owned()));
        }
        records
    };
    let noisy = write(folder.path().join("noisy.jsonl"), &noisy);
    let whole = write(folder.path().join("whole.jsonl"), &of_cpu("A"));
    let other = write(folder.path().join("other.jsonl"), &of_cpu("B"));
    for (files, words) in [
        ([&old, &old], "no time or size has a verdict"),
        ([&noisy, &noisy], "no time or size has a verdict"),
        ([&whole, &other], "different CPUs"),
    ] {
        let output = switchcost(&["--fail-above", "5%"], &files.map(PathBuf::as_path));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
    assert_eq!(switchcost(&[], &[&old, &old]).status.code(), Some(0));
    assert_eq!(switchcost(&[], &[&old]).status.code(), Some(2));
}

#[test]
fn json_holds_the_estimates_unrounded() {
    let folder = tempfile::tempdir().unwrap();
    let old = write(folder.path().join("old.jsonl"), &file(2, 6));
    let output = switchcost(&["--format", "json"], &[&old, &old]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &json["rows"][1];
    assert_eq!(row["name"], "case 1");
    let finding = &row["findings"][0];
    assert_eq!(finding["figures"], serde_json::json!([1000.0, 1000.0]));
    assert_eq!(finding["verdict"]["within"], 0.0);
    assert_eq!(finding["change"]["estimate"], 0.0);
}
