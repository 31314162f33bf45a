//! `switchcost` itself.

mod faults;
mod fit;
mod goroutines;
mod plans;
mod report;
mod scale;
mod stop;
mod sweep;

use std::fs;
use std::path::{Path, PathBuf};

use harness::record::Record;
use tempfile::TempDir;

use crate::support::benchmarks::{self, RUNNER};
use crate::support::process::Run;

/// A run of the runner.
fn switchcost(flags: &str) -> Run {
    // The benchmarks are built once, and by one cargo.
    benchmarks::all();
    Run::of(RUNNER).flags(flags)
}

/// Two quick rows.
const PLAN: &str = r#"
    rounds = 2

    [[section]]
    title = "Two of them"
    metric = "hop"

    [[section.row]]
    name = "with tasks"
    program = "async-mem-brigade"
    flags = ["--tasks", "3"]
    iters = 4
    warmups = 1
    baseline = "without"

    [[section.row]]
    name = "without"
    program = "one-thread-brigade"
    flags = ["--tasks", "3"]
    iters = 4
    warmups = 1
"#;

/// A plan and the file of its records, in a folder of their own.
struct Files {
    folder: TempDir,
}

impl Files {
    fn of(plan: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plan.toml"), plan).unwrap();
        Files { folder }
    }

    fn plan(&self) -> PathBuf {
        self.folder.path().join("plan.toml")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out.jsonl")
    }

    /// `switchcost run` of the plan and no more: no extension.
    fn run(&self) -> Run {
        self.run_into("--out", &self.out())
    }

    fn run_into(&self, flag: &str, out: &Path) -> Run {
        let run = switchcost("run --budget 0s --plan").arg(self.plan());
        run.arg(flag).arg(out)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.out()).unwrap_or_default()
    }

    fn records(&self) -> Vec<Record> {
        let text = self.text();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}
