//! `switchcost run` and `list`, from a plan to its tables.

use std::collections::BTreeSet;
use std::fs;

use harness::record::{Metric, Record};
use switchcost::plan::BUILT_IN;
use switchcost::probe::{self, Answer};

use super::{Files, PLAN, switchcost};
use crate::support::{benchmarks, skip};

#[test]
fn the_built_in_plan_lists_programs_that_exist() {
    let run = switchcost("run --list").finish().expect_quiet_success();
    assert!(run.stdout.lines().count() > 10, "{run}");
    for line in run.stdout.lines() {
        let known = |word: &str| benchmarks::all().iter().any(|b| b.name == word);
        assert!(line.split(' ').any(known), "{line}");
    }
}

#[test]
fn a_built_in_plan_is_named_and_any_other_is_a_file() {
    let names: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
    for name in &names {
        let listed = switchcost("run --list --plan").arg(name).finish();
        let listed = listed.expect_quiet_success();
        let run = switchcost("run --list --plan").arg(name).finish();
        assert_eq!(run.expect_quiet_success().stdout, listed.stdout);
    }
    let default = switchcost("run --list").finish().stdout;
    let named = switchcost("run --list --plan default").finish().stdout;
    assert_eq!(default, named);
    let unknown = switchcost("run --list --plan peer").finish();
    unknown.expect_refusal(2, &[&["--plan: cannot read peer: "], &names[..]].concat());
    // A file of that name is read where its path says so.
    let files = Files::of(PLAN);
    let file = files.folder.path().join("peers");
    fs::rename(files.plan(), &file).unwrap();
    let folder = |plan: &str| {
        switchcost("run --list --plan")
            .arg(plan)
            .folder(files.folder.path())
    };
    let read = folder("./peers").finish().expect_quiet_success().stdout;
    let built_in = folder("peers").finish().expect_quiet_success().stdout;
    assert_eq!(read.lines().count(), 2);
    assert!(built_in.lines().count() > 2, "{built_in}");
    for flags in ["run --help", "completions bash", "completions zsh"] {
        let shown = switchcost(flags).finish().expect_quiet_success().stdout;
        for name in &names {
            assert!(shown.contains(name), "{name} in {flags}");
        }
    }
}

/// Limits may forbid a case here; a flag that its program does not take is a fault of the plan.
#[test]
fn each_case_of_each_built_in_plan_is_understood_by_its_program() {
    let mut missing = BTreeSet::new();
    let mut faults = Vec::new();
    let mut asked = BTreeSet::new();
    for built_in in BUILT_IN {
        for case in built_in.plan().unwrap().cases(false) {
            let Some(program) = benchmarks::all().iter().find(|b| b.name == case.program) else {
                missing.insert(case.program);
                continue;
            };
            let answer = probe::ask(
                &program.path,
                probe::kind(&program.path).unwrap(),
                &case.flags,
            )
            .unwrap();
            if !matches!(answer, Answer::Fits | Answer::TooMuch { .. }) {
                let command = format!("{} {}", case.program, case.flags.join(" "));
                faults.push(format!("{}: {command}: {answer:?}", built_in.name));
            }
            asked.insert((case.program, case.flags));
        }
    }
    for program in missing {
        skip(&format!(
            "{program} is not in this workspace, or cannot run here"
        ));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(asked.len() > 100, "{}", asked.len());
}

/// The first section of [`PLAN`] with further columns, in fewer rounds than a second one.
fn with_further_columns() -> String {
    let also = "rounds = 1\n\
                [[section.also]]\nname = 'rate'\nmetric = 'rate'\n\
                [[section.also]]\nname = 'switches'\nmetric = 'switches'\n\
                [[section.also]]\nname = 'late'\nmetric = 'late-p50'\n\
                [[section.row]]";
    let second = PLAN
        .replace("rounds = 2", "")
        .replace("Two of them", "Again");
    let first = PLAN.replacen("[[section.row]]", also, 1);
    format!("{first}\n{second}")
}

#[test]
fn further_columns_are_filled_from_the_same_runs() {
    let files = Files::of(&with_further_columns());
    let run = files.run().finish().expect(0);
    let records = files.records();
    let of = |section: &str| {
        let of = |r: &&Record| r.plan.as_ref().unwrap().section == section;
        records.iter().filter(of).count()
    };
    // One round of two cases, and two of as many.
    assert_eq!((of("Two of them"), of("Again")), (2, 4));
    let position = records.iter().filter_map(|r| r.plan.as_ref());
    let mut first = position.filter(|p| p.section == "Two of them");
    assert!(first.all(|p| p.also.len() == 3 && p.also[2].metric == Metric::LateP50));
    let (_, table) = run.stdout.split_once("\nTwo of them\n").unwrap();
    let (table, _) = table.split_once("\nAgain\n").unwrap();
    for text in ["rate", " k/s ", "switches", "  less without"] {
        assert!(table.contains(text), "'{text}' is missing: {run}");
    }
    let (figures, _) = table
        .split_once(
            "
Switches per hop: ",
        )
        .unwrap();
    assert!(
        figures.lines().all(|line| line.chars().count() <= 80),
        "{run}"
    );
    let report = switchcost("report").arg(files.out()).finish();
    assert_eq!(report.expect_quiet_success().stdout, run.stdout);
    files.run_into("--resume", &files.out()).finish().expect(0);
    assert_eq!(files.records().len(), 6);
}

/// A section with rounds of its own asks for none, and misses no target.
#[test]
fn only_sections_without_rounds_of_their_own_are_extended() {
    let files = Files::of(&with_further_columns());
    let run = switchcost("run --budget 3s --target 0.01% --plan").arg(files.plan());
    let run = run.arg("--out").arg(files.out()).finish().expect(0);
    let rounds = |section: &str| {
        let records = files.records();
        let position = records.iter().filter_map(|r| r.plan.as_ref());
        position
            .filter(|p| p.section == section)
            .map(|p| p.round)
            .max()
    };
    assert_eq!(rounds("Two of them"), Some(0), "{run}");
    assert!(rounds("Again") > Some(1), "{run}");
}

#[test]
fn a_case_is_a_line() {
    let columns = "[[section.column]]\nname = 'free'\n[[section.column]]\nname = 'one CPU'\n\
                   flags = ['--placement', 'one-cpu']\n[[section.row]]";
    let files = Files::of(&PLAN.replacen("[[section.row]]", columns, 1));
    let run = switchcost("run --list --plan").arg(files.plan()).finish();
    let expected = "\
        with tasks, free: 2 x async-mem-brigade --tasks 3 --iters 4 --warmups 1\n\
        with tasks, one CPU: 2 x async-mem-brigade --tasks 3 --placement one-cpu --iters 4 --warmups 1\n\
        without, free: 2 x one-thread-brigade --tasks 3 --iters 4 --warmups 1\n\
        without, one CPU: 2 x one-thread-brigade --tasks 3 --placement one-cpu --iters 4 --warmups 1\n";
    assert_eq!(run.expect_quiet_success().stdout, expected);
}

#[test]
fn a_plan_becomes_records_and_a_table() {
    let files = Files::of(PLAN);
    let run = files
        .run()
        .finish()
        .expect(0)
        .expect_complaint(&["records: "]);
    for text in [
        "\nTwo of them\n",
        "with tasks",
        "  less without",
        "without",
        "2 rounds",
    ] {
        assert!(run.stdout.contains(text), "'{text}' is missing: {run}");
    }
    let records = files.records();
    assert_eq!(records.len(), 2 * 2);
    for (place, record) in (0..).zip(&records) {
        let plan = record.plan.as_ref().unwrap();
        assert_eq!(
            (plan.round, plan.order),
            (place / 2, place % 2),
            "in the order they were run"
        );
        assert_eq!(plan.section, "Two of them");
        assert_eq!(record.samples.as_ref().unwrap().count, 4);
        assert!(!record.partial && record.error.is_none());
    }
    let report = switchcost("report").arg(files.out()).finish();
    assert_eq!(report.expect_quiet_success().stdout, run.stdout);
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let files = Files::of(PLAN);
    let order = |seed: &str| {
        let out = files.folder.path().join(format!("{seed}.jsonl"));
        let run = files
            .run_into("--out", &out)
            .flags("--rounds 6 --seed")
            .arg(seed);
        run.finish().expect(0);
        let text = fs::read_to_string(out).unwrap();
        let names = text.lines().map(|line| {
            let record: Record = serde_json::from_str(line).unwrap();
            record.benchmark
        });
        names.collect::<Vec<_>>()
    };
    let first = order("7");
    assert_eq!(first.len(), 12);
    assert_eq!(first, order("007"));
}

#[test]
fn records_are_appended() {
    let files = Files::of(PLAN);
    for lines in [4, 8] {
        files.run().finish().expect(0);
        assert_eq!(files.records().len(), lines);
    }
}

/// A full disk, or a machine that stopped, may have left a part of a line.
#[test]
fn a_line_that_was_cut_does_not_spoil_the_next_record() {
    let files = Files::of(PLAN);
    fs::write(files.out(), r#"{"schema":1,"benchmark":"thr"#).unwrap();
    let run = files.run().finish().expect(0);
    let text = files.text();
    let whole = text
        .lines()
        .filter(|line| serde_json::from_str::<Record>(line).is_ok());
    assert_eq!(whole.count(), 4, "{text}");
    let report = switchcost("report").arg(files.out()).finish().expect(0);
    let report = report.expect_complaint(&["line 1"]);
    assert_eq!(report.stdout, run.stdout);
}

/// Cases may have equal flags and differ in nothing but their program.
#[test]
fn a_run_that_is_resumed_runs_what_is_missing() {
    let files = Files::of(PLAN);
    files.run().finish().expect(0);
    let all = files.text();
    for missing in ["async-mem-brigade", "one-thread-brigade"] {
        let benchmark = format!("\"benchmark\":\"{missing}\"");
        let kept = all.lines().filter(|line| !line.contains(&benchmark));
        let kept: Vec<&str> = kept.collect();
        assert_eq!(kept.len(), 2, "{all}");
        fs::write(files.out(), kept.join("\n") + "\n").unwrap();
        files.run_into("--resume", &files.out()).finish().expect(0);
        let records = files.records();
        let again = records.iter().filter(|record| record.benchmark == missing);
        assert_eq!((records.len(), again.count()), (4, 2), "{missing}");
    }
}
