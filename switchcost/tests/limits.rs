//! What `limits` prints of several systems, written in miniature from the formats proc(5), cgroups(7)
//! and the kernel's admin guide document.
//!
//! The programs' needs are invented, so that no snapshot depends on this machine's CPUs.

use std::fs;

use ::limits::{LimitState, Limits};
use contract::message::{Need, Needs};
use switchcost::render;
use switchcost::views::limits::{self, Asked, LimitRow, LimitsReport};
use tempfile::TempDir;

use crate::properties::unpacked;
use crate::support::RUNNER;
use crate::support::process::Run;

const SYSTEMS: [&str; 3] = ["debian", "docker", "kubernetes"];

/// A system, unpacked from one text: `=== path` before each file.
fn system(name: &str) -> TempDir {
    let path = format!("{}/tests/fixtures/systems/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    unpacked(&fs::read_to_string(path).unwrap())
}

fn asked() -> Vec<Asked> {
    let both = |each: u64| Need::new(each, each);
    let link = Needs { descriptors: both(2), bytes: both(8 << 10), ..Needs::default() };
    let thread =
        Needs { threads: both(1), maps: both(4), bytes: both(40 << 10), ..Needs::default() };
    let channel = Needs { bytes: both(2 << 10), ..Needs::default() };
    [
        ("thread-brigade", Ok(link + thread)),
        ("async-brigade", Ok(link + channel)),
        ("async-mem-brigade", Ok(channel)),
        ("thread-creation", Ok(thread)),
        ("lost-brigade", Err("it is not there".to_owned())),
    ]
    .map(|(name, needs)| (name.to_owned(), needs))
    .to_vec()
}

fn report(name: &str, tasks: Option<u64>) -> LimitsReport {
    let root = system(name);
    limits::check(&Limits::read_under(root.path()), &asked(), tasks)
}

fn text(report: &LimitsReport, width: usize) -> String {
    let mut out = Vec::new();
    render::limits::text(report, width, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_system_is_described() {
    for name in SYSTEMS {
        let text = text(&report(name, Some(20_000)), 100);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("fixtures/snapshots/limits");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}

#[test]
fn only_commands_and_paths_exceed_the_width() {
    for name in SYSTEMS {
        for (tasks, width) in [(None, 100), (Some(20_000), 80), (None, 60)] {
            for line in text(&report(name, tasks), width).lines() {
                let is_long = line.starts_with("    ") || line.contains("/sys/fs/cgroup");
                let fits = line.chars().count() <= width;
                assert!(fits || is_long, "{name}, {width}: {line}");
            }
        }
    }
}

#[test]
fn what_is_hidden_is_named_and_never_guessed() {
    let report = report("kubernetes", None);
    let is_maps = |line: &&LimitRow| line.status.name == "vm.max_map_count";
    let maps = report.limits.iter().find(is_maps).unwrap();
    assert_eq!(maps.status.state, LimitState::Unknown);
    assert!(maps.most.is_empty());
    let text = text(&report, 100);
    assert!(text.contains("vm.max_map_count: cannot read /proc/sys/vm/max_map_count"));
    assert!(text.contains("lost-brigade: cannot be asked: it is not there"));
    assert!(text.contains("Kernel parameters can be raised only on the host"));
}

#[test]
fn the_commands_are_enough() {
    // A limit that is raised for N holds N.
    for name in SYSTEMS {
        let root = system(name);
        let system = Limits::read_under(root.path());
        for (program, needs) in asked() {
            let Ok(needs) = needs else { continue };
            let (_, most) = system.tightest(&needs).unwrap();
            assert!(system.allow(&needs, most), "{name}, {program}");
            let report = limits::check(&system, &asked(), Some(most + 1));
            let mut rows = report.programs.iter();
            let row = rows.find(|row| row.program == program).unwrap();
            assert_eq!(row.fits, Some(false), "{name}, {program}");
            let mut raised = report.raises.iter();
            assert!(raised.any(|raise| raise.programs.contains(&program)), "{name}, {program}");
        }
    }
}

#[test]
fn limits_of_one_file_are_raised_apart() {
    let raises = report("debian", Some(3_000_000)).raises;
    for (limit, program) in [
        ("open files, hard (ulimit -Hn)", "async-brigade"),
        ("user processes (ulimit -u)", "thread-creation"),
    ] {
        let raise = raises.iter().find(|raise| raise.limit.name == limit).unwrap();
        assert!(raise.programs.iter().any(|name| name == program), "{limit}");
    }
}

/// A number of tasks is read as `estimate` reads it.
#[test]
fn a_number_of_tasks_may_have_a_unit() {
    let limits = |flags| Run::of(RUNNER).flags("limits --format json").flags(flags).finish();
    let found = limits("--tasks 2k one-thread-brigade").stdout;
    assert!(found.contains(r#""tasks":2000,"#), "{found}");
    limits("--tasks abc").expect_refusal(2, &["--tasks", "is not a number of tasks"]);
}
