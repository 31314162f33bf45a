//! `switchcost compare`: that it finds what is there, and does not find what is not.

mod honesty;
mod synthetic;
mod yardsticks;

use std::path::PathBuf;
use std::sync::Arc;

use contract::message::{Runtime, Usage};
use figures::verdict::{Reason, Verdict};
use record::{Also, Cpus, Metric, Policy, Record, Samples, Trial};
use switchcost::measure::store::Store;

use crate::support::process::Outcome;
use crate::support::switchcost;
use synthetic::{
    Noise, centre, csv, draw, file, header_of, pair, record, row_of, text, verdicts, worse_than,
};

/// Ten runs with further columns.
fn with_further_columns(hop: f64, switches: u64) -> Vec<Record> {
    let also = [
        ("rate", Metric::Rate),
        ("switches", Metric::Switches),
        ("alive", "extra.alive_count.max".parse().unwrap()),
        ("late", "extra.late.max".parse().unwrap()),
    ];
    let also = also.map(|(name, metric)| Also { name: name.to_owned(), metric });
    let run = |k: u32| {
        let mut record = record(0, k, hop + f64::from(k % 3));
        row_of(&mut record).also = also.to_vec();
        let alive = Samples::of(&[10]).unwrap().distribution;
        record.trial.extra.insert("alive_count".to_owned(), alive);
        let voluntary_switches = switches + u64::from(k % 3);
        record.trial.usage = Some(Usage { voluntary_switches, ..Usage::default() });
        // Its workers wake each other: the switches contradict nothing.
        let runtime = Runtime { workers: 2, ..Runtime::one_thread("tokio", None) };
        Arc::make_mut(record.said.as_mut().unwrap()).runtime = Some(runtime);
        record
    };
    (0..10).map(run).collect()
}

#[test]
fn what_is_better_depends_on_the_quantity() {
    use Verdict::{Less, More, Within};
    let (old, new) = (with_further_columns(1000.0, 100), with_further_columns(3000.0, 300));
    let comparison = pair(&old, &new);
    // Nothing tells how late anything was, so that there is no line for it.
    assert_eq!(verdicts(&comparison), [More, Less, More, Within(0.0)]);
    let back = pair(&new, &old);
    assert_eq!(verdicts(&back), [Less, More, Less, Within(0.0)]);
    for (comparison, tally) in [
        (&comparison, "\n2 slower, 1 more, 1 unchanged\n"),
        (&back, "\n2 faster, 1 fewer, 1 unchanged\n"),
    ] {
        assert!(text(comparison).contains(tally), "{}", text(comparison));
    }
    let text = text(&comparison);
    for words in ["case 0, rate", "999.1 k/s [998.5, 999.7]", "100.9 [100.3, 101.5]"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // A rate that falls to a third takes three times as long: the gate sees one and the same.
    assert_eq!(worse_than(&comparison, 0.5), ["case 0", "case 0, rate"]);
    assert!(worse_than(&comparison, 2.0).is_empty());
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
            record.trial.error = Some("no memory".to_owned());
            record
        })
    };
    let few = |case: u32| plain(case).take(4);
    // What a row is beside the machine has two modes as well.
    let yardstick = || {
        plain(5).map(|mut record| {
            let row = row_of(&mut record);
            row.ties.yardstick = true;
            row.command.setting.cpus = Some(Cpus::List(vec![0]));
            record
        })
    };
    let old = plain(0).chain(plain(1)).chain(plain(2)).chain(plain(3)).chain(yardstick());
    let new = two(0).chain(failing(1)).chain(few(2)).chain(plain(4)).chain(yardstick());
    let comparison = pair(&old.collect::<Vec<Record>>(), &new.collect::<Vec<Record>>());
    let reasons = [Reason::TwoModes, Reason::FewRounds].map(Verdict::Inconclusive);
    assert_eq!(verdicts(&comparison)[..2], reasons);
    let text = text(&comparison);
    for said in [
        "3 no verdict, 1 failed, 2 missing",
        "case 0: two modes",
        "case 2: fewer than 5 rounds",
        "Failed: case 1 (B: no memory)",
        "Missing: case 3 (in B)",
        "Missing: case 4 (in A)",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    let csv = csv(&comparison);
    for said in [",case 1,failed,", ",case 3,missing,", ",case 4,missing,"] {
        assert!(csv.contains(said), "{said}\n{csv}");
    }
}

#[test]
fn another_machine_build_or_flag_is_marked() {
    let mut old = file(2, 5);
    for record in &mut old {
        let run = header_of(record);
        run.machine.set("kernel_release", "6.1.0");
        run.build.insert("git_revision".to_owned(), "abc".into());
        row_of(record).command.setting.cpus = Some(Cpus::List(vec![0]));
    }
    assert!(!text(&pair(&old, &old)).contains("DIFFERENT"));
    let mut new = old.clone();
    for record in &mut new {
        let run = header_of(record);
        run.machine.set("kernel_release", "6.12.0");
        run.build.insert("git_revision".to_owned(), "def".into());
        let command = &mut row_of(record).command;
        command.flags = vec!["--bytes=25".to_owned()];
        command.setting.policy = Some(Policy::Fifo);
    }
    let text = text(&pair(&old, &new));
    for said in [
        "!! DIFFERENT MACHINE OR SETTINGS: kernel_release: 6.1.0 → 6.12.0",
        "!! DIFFERENT BUILD: git_revision: abc → def",
        "!! DIFFERENT COMMANDS: 'case 0' and 1 more: synthetic --warmup 0, CPUs 0 → synthetic --bytes=25 --warmup 0, CPUs 0, policy fifo",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

fn write(path: PathBuf, records: &[Record]) -> PathBuf {
    let mut store = Store::append_to(&path).unwrap();
    store.append(&*records[0].header).unwrap();
    for record in records {
        let description = record.said.as_deref().cloned();
        store.append(&Trial { description, ..record.trial.clone() }).unwrap();
    }
    path
}

fn compare(files: [&PathBuf; 2], flags: &str) -> Outcome {
    files.iter().fold(switchcost("compare"), |run, file| run.arg(file)).flags(flags).finish()
}

#[test]
fn the_gate_fails_where_a_case_is_worse_beyond_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let mut noise = Noise::of(12);
    let mut files = [file(3, 10), file(3, 10)];
    for (file, factor) in files.iter_mut().zip([1.0, 2.0]) {
        let mean = |case| centre(case) * if case == 1 { factor } else { 1.0 };
        draw(file, |case| mean(case) * noise.factor(0.01));
    }
    let [old, new] = files;
    let old = write(folder.path().join("old.jsonl"), &old);
    let new = write(folder.path().join("new.jsonl"), &new);
    // Twice as much: the estimate may lie above 90 %, but not all of its interval.
    for (limit, status) in [("5%", 1), ("5", 1), ("0", 1), ("90%", 3), ("90% --pass-undecided", 0)]
    {
        let run = compare([&old, &new], &format!("--fail-above {limit}")).expect(status);
        assert!(run.stderr.contains("case 1"), "{run}");
        assert_eq!(run.stderr.contains("perhaps worse by more than 90 %"), status != 1, "{run}");
        assert!(!run.stderr.contains("case 0") && !run.stderr.contains("case 2"), "{run}");
        assert!(!run.stdout.is_empty());
    }
    // A case that is missing is untested, which is not worse.
    let two = write(folder.path().join("two.jsonl"), &file(2, 10));
    compare([&old, &two], "--fail-above 5%").expect(125);
    // The other way round it is faster, which is no fault; the others may be slower.
    let run = compare([&new, &old], "--fail-above 0").expect(3);
    assert!(run.stderr.contains("than 0 %: case 0; case 2; "), "{run}");
    compare([&new, &old], "--fail-above 0 --pass-undecided").expect(0);
}

#[test]
fn a_gate_without_a_verdict_ends_with_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let old = write(folder.path().join("old.jsonl"), &file(1, 3));
    let of_cpu = |model: &str| {
        let mut records = file(1, 10);
        for record in &mut records {
            header_of(record).machine.set("cpu_model", model);
        }
        write(folder.path().join(model), &records)
    };
    for (files, words) in [
        ([&old, &old], "no time, size or rate has a verdict"),
        ([&of_cpu("A"), &of_cpu("B")], "different CPUs"),
    ] {
        compare(files, "--fail-above 5%").expect(3).expect_complaint(&[words]);
    }
    compare([&old, &old], "").expect(0);
}
