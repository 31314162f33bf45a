//! Records that are not to be believed, or not to be put together: what `report` and `compare` make
//! of lines that are well-formed and wrong.

use std::fs;

use harness::record::{MemoryChange, Record};
use harness::usage::Memory;
use switchcost::analysis::analyse;
use switchcost::render;
use tempfile::TempDir;

use crate::support::benchmarks::RUNNER;
use crate::support::process::{Outcome, Run};

/// The records of a whole plan.
fn records() -> Vec<Record> {
    let lines = include_str!("fixtures/plan.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A file of records in a folder of its own.
struct File {
    folder: TempDir,
}

impl File {
    fn of(records: &[Record]) -> Self {
        let lines: Vec<String> = records
            .iter()
            .map(|record| serde_json::to_string(record).unwrap())
            .collect();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.jsonl"), lines.join("\n")).unwrap();
        File { folder }
    }

    fn run(&self, verb: &str, times: usize) -> Outcome {
        let path = self.folder.path().join("x.jsonl");
        let mut run = Run::of(RUNNER).flags(verb);
        for _ in 0..times {
            run = run.arg(&path);
        }
        run.finish()
    }
}

/// The place of the first record that measured what it should.
fn good(records: &[Record]) -> usize {
    records
        .iter()
        .position(|r| r.samples.is_some() && r.hops.is_some())
        .unwrap()
}

#[test]
fn a_record_that_cannot_be_true_is_told_and_passed_over() {
    type Lie = (fn(&mut Record), &'static str);
    let lies: [Lie; 14] = [
        (|r| r.samples.as_mut().unwrap().mean = -5.0, "mean -5"),
        (
            |r| r.samples.as_mut().unwrap().mean = 1e300,
            "is not between",
        ),
        (|r| r.samples.as_mut().unwrap().max = u64::MAX, "a year"),
        (|r| r.samples.as_mut().unwrap().p90 = 1, "p50"),
        (|r| r.samples.as_mut().unwrap().stddev = 1e12, "stddev"),
        (|r| r.samples.as_mut().unwrap().count = 0, "no samples"),
        (|r| r.samples.as_mut().unwrap().count += 1, "series"),
        (
            |r| r.samples.as_mut().unwrap().series.batch = 0,
            "batches of none",
        ),
        (|r| r.hops = Some(0), "hops: none"),
        (|r| r.per_hop = Some(1.0), "per_hop: 1.0 is not the mean"),
        (
            |r| drop(r.params.insert("iters".to_owned(), 1.into())),
            "of 1 iterations",
        ),
        (
            |r| r.memory.as_mut().unwrap().before.system_slab = Some(u64::MAX),
            "address space",
        ),
        (
            |r| r.machine.pressure.cpu = Some(250.0),
            "pressure.cpu: 250",
        ),
        (|r| r.plan.as_mut().unwrap().round = u32::MAX, "plan.round"),
    ];
    let mut told = records();
    let mut honest = told[good(&told)].clone();
    honest.memory = Some(MemoryChange {
        before: Memory::default(),
        at_rest: None,
    });
    for (tell, _) in &lies {
        let mut lie = honest.clone();
        tell(&mut lie);
        told.push(lie);
    }
    let before = told.len() - lies.len();
    let report = File::of(&told).run("report", 1).expect(0);
    let clean = File::of(&told[..before]).run("report", 1);
    assert_eq!(report.stdout, clean.expect_quiet_success().stdout);
    let complaints: Vec<&str> = report.stderr.lines().collect();
    assert_eq!(complaints.len(), lies.len(), "{report}");
    for (number, (complaint, (_, words))) in (before + 1..).zip(complaints.iter().zip(&lies)) {
        let line = format!("line {number} is skipped: it cannot be true: ");
        assert!(
            complaint.contains(&line) && complaint.contains(words),
            "{words}: {complaint}"
        );
    }
    let compared = File::of(&told).run("compare", 2).expect(0);
    assert_eq!(compared.stderr.lines().count(), 2 * lies.len());
}

#[test]
fn no_name_or_message_of_a_record_reaches_a_terminal_as_a_command() {
    const COMMAND: &str = "\u{1b}[2J\u{1b}]0;mine\u{7}\u{9b}31m\r\u{202e}";
    let mut records = records();
    for record in &mut records {
        if let Some(plan) = &mut record.plan {
            for name in [&mut plan.section, &mut plan.row, &mut plan.column] {
                *name += COMMAND;
            }
        }
        record.machine.cpu_model = Some(COMMAND.to_owned());
        record.build.rustc = Some(COMMAND.to_owned());
        if record.error.is_some() {
            record.error = Some(COMMAND.to_owned());
        }
    }
    // One whose fault quotes the line.
    let last = records.len() - 1;
    records[last].params.insert("tasks".to_owned(), 0.into());
    let file = File::of(&records);
    let mut lines = fs::read_to_string(file.folder.path().join("x.jsonl")).unwrap();
    lines += &format!(
        "\n{}\n",
        lines
            .lines()
            .next()
            .unwrap()
            .replace("\"hop\"", "\"\\u001b[2J\"")
    );
    fs::write(file.folder.path().join("x.jsonl"), lines).unwrap();
    for (verb, files) in [
        ("report", 1),
        ("report --markdown -", 1),
        ("report --csv -", 1),
        ("report --html -", 1),
        ("compare", 2),
        ("compare", 3),
        ("compare --format markdown", 2),
    ] {
        let run = file.run(verb, files).expect(0);
        for shown in [&run.stdout, &run.stderr] {
            let command = |c: char| (c.is_control() || c == '\u{202e}') && c != '\n' && c != '\t';
            assert!(!shown.contains(command), "{verb}: {shown:?}");
        }
        assert!(run.stdout.contains("u{1b}[2J"), "{verb}: {run}");
    }
    assert!(file.run("report", 1).stderr.contains("u{1b}[2J"));
}

#[test]
fn records_of_several_machines_or_builds_are_told_before_any_figure() {
    let mut records = records();
    for record in records.iter_mut().skip(3) {
        record.machine.kernel_release = Some("9.9-other".to_owned());
        record.build.rustc = Some("rustc 9.9".to_owned());
    }
    let file = File::of(&records);
    for verb in ["report", "report --markdown -"] {
        let run = file.run(verb, 1).expect_quiet_success();
        let lines: Vec<&str> = run.stdout.lines().collect();
        assert!(
            lines[0].starts_with("!! DIFFERENT MACHINES OR SETTINGS ARE POOLED HERE:")
                && lines[0].contains("→ 9.9-other"),
            "{run}"
        );
        assert!(
            lines[1].starts_with("!! DIFFERENT BUILDS ARE POOLED HERE:")
                && lines[1].contains("→ rustc 9.9"),
            "{run}"
        );
        // Both machines are named.
        assert!(
            lines[2].contains("; and ") && lines[2].contains("9.9-other"),
            "{run}"
        );
    }
    let page = file.run("report --html -", 1).expect_quiet_success().stdout;
    let (heading, _) = page.split_once("</header>").unwrap();
    assert!(
        heading.contains("<strong>!! DIFFERENT MACHINES"),
        "{heading}"
    );
}

#[test]
fn nothing_left_above_the_io_is_no_ratio_and_says_so() {
    const BASELINE: &str = "I/O alone, blocking";
    let mut records = records();
    for position in records.iter_mut().filter_map(|r| r.plan.as_mut()) {
        if position.row == "async task over pipes" {
            position.baseline = Some(BASELINE.to_owned());
        }
    }
    let net_line = |records: &[Record]| {
        let analysis = analyse(records);
        let mut text = Vec::new();
        render::text(&analysis, records, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let line = text
            .lines()
            .find(|line| line.contains("both less their I/O"));
        line.unwrap_or_else(|| panic!("no such line:\n{text}"))
            .to_owned()
    };
    assert!(
        !net_line(&records).contains("not above"),
        "{}",
        net_line(&records)
    );
    // In one round the baseline takes longer than what it is subtracted from.
    let baseline = records
        .iter_mut()
        .find(|record| {
            let position = record.plan.as_ref().unwrap();
            record.samples.is_some() && !position.twin && position.row == BASELINE
        })
        .unwrap();
    baseline.samples.as_mut().unwrap().mean *= 1000.0;
    let line = net_line(&records);
    assert!(
        line.contains("none: one of them is not above its I/O in every round"),
        "{line}"
    );
}
