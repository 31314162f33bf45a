//! What `limits` prints of several systems, written in miniature from the formats proc(5), cgroups(7)
//! and the kernel's admin guide document.
//!
//! The programs' needs are invented, so that no snapshot depends on this machine's CPUs.

use std::fs;
use std::path::Path;

use ::limits::Limits;
use contract::message::{Need, Needs};
use serde_json::Value;
use switchcost::render::Report;
use switchcost::views::limits;

use crate::properties::unpacked;
use crate::support::process::Run;
use crate::support::{RUNNER, golden, is_installed, skip, switchcost};

const SYSTEMS: [&str; 3] = ["debian", "docker", "kubernetes"];

fn asked() -> Vec<(String, Result<Needs, String>)> {
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

/// Threads of Python have a stack and a guard page each, as pthreads do.
#[test]
fn what_a_program_does_not_say_is_measured() {
    if !is_installed("python3") {
        return skip("no python3");
    }
    let brigade = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/python/brigade.py");
    for (kind, expected) in [("asyncio", [0, 0, 0]), ("threads", [0, 1, 2])] {
        let flags = format!("limits --format json {brigade} --tasks-are {kind} --tasks 3");
        let run = switchcost(&flags).finish().expect_quiet_success();
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let needs = &report["programs"][0]["needs"];
        let each = |name: &str| needs[name]["each"].as_u64().unwrap_or(0);
        assert_eq!(["descriptors", "threads", "maps"].map(each), expected, "{run}");
        assert!(each("bytes") > 0 && needs["bytes"]["fixed"].as_u64() > Some(1 << 20), "{run}");
    }
    // A limit below what the measurement holds is named, too.
    let script = r#"ulimit -v 2000000; exec "$0" "$@""#;
    let flags = format!("limits {brigade} --tasks-are threads --tasks 500");
    let run = Run::within(script, Path::new(RUNNER)).flags(&flags).finish().expect(1);
    assert!(run.stdout.contains("\nvirtual memory: 1.907 GiB, needed "), "{run}");
}

/// What is printed of a system, unpacked from one text: `=== path` before each file.
fn text(name: &str, tasks: Option<u64>, width: usize) -> String {
    let path = format!("{}/tests/fixtures/systems/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let root = unpacked(&fs::read_to_string(path).unwrap());
    let report = limits::check(&Limits::read_under(root.path()), &asked(), tasks);
    let mut out = Vec::new();
    report.documents()[0].text(width, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_system_is_described() {
    for name in SYSTEMS {
        let text = text(name, Some(20_000), 100);
        golden(&format!("fixtures/snapshots/limits/{name}.txt"), &text);
    }
}

#[test]
fn only_commands_and_paths_exceed_the_width() {
    for name in SYSTEMS {
        for (tasks, width) in [(None, 100), (Some(20_000), 80), (None, 60)] {
            for line in text(name, tasks, width).lines() {
                let is_long = line.starts_with("    ") || line.contains("/sys/fs/cgroup");
                let fits = line.chars().count() <= width;
                assert!(fits || is_long, "{name}, {width}: {line}");
            }
        }
    }
}
