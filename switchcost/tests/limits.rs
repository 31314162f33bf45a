//! What `limits` prints of several systems, written in miniature from the formats proc(5), cgroups(7)
//! and the kernel's admin guide document.
//!
//! The programs' needs are invented, so that no snapshot depends on this machine's CPUs.

use std::fs;

use ::limits::Limits;
use contract::message::{Need, Needs};
use switchcost::render::Report;
use switchcost::views::limits;

use crate::properties::unpacked;
use crate::support::golden;

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
