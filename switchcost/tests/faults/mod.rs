//! What goes wrong in mid-run, in the benchmark programs and around the runner.

mod children;
mod cpus;
mod disks;
mod memory;
mod processes;
mod signals;
mod tasks;
mod turns;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use harness::record::Record;
use tempfile::TempDir;

use crate::support::benchmarks::{Benchmark, RUNNER, all};
use crate::support::process::Run;

/// The benchmarks whose tasks can be told to end: the chains.
fn chains() -> impl Iterator<Item = &'static Benchmark> {
    // The flag is in no help.
    let chain = |b: &&Benchmark| b.has("--tokens") && b.name != "one-thread-brigade";
    all().iter().filter(chain)
}

/// A folder with the runner and programs beside it, which need not be what they are called: away
/// from cargo's folders the runner takes what it finds.
struct House {
    folder: TempDir,
}

impl House {
    /// With every benchmark as it is, and a plan of these programs, one row each.
    fn new(rounds: u32, rows: &[(&str, &str, u64)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Another user may be asked to come in.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let house = House { folder };
        place(Path::new(RUNNER), &house.path("switchcost"));
        for benchmark in all() {
            place(&benchmark.path, &house.path(&benchmark.name));
        }
        let mut plan = format!("rounds = {rounds}\n[[section]]\ntitle = 'All'\nmetric = 'hop'\n");
        for (program, flags, iters) in rows {
            let flags: Vec<&str> = flags.split_whitespace().collect();
            plan += &format!(
                "[[section.row]]\nname = 'of {program}'\nprogram = '{program}'\nflags = {flags:?}\niters = {iters}\nwarmups = 1\n"
            );
        }
        fs::write(house.path("plan.toml"), plan).unwrap();
        house
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a shell script in the place of a program.
    fn fake(&self, program: &str, script: &str) {
        let path = self.path(program);
        // Not into the file: it may be the real program's by another name.
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A run of the plan into `out.jsonl`.
    fn run(&self, flags: &str) -> Run {
        self.arguments(Run::of(self.path("switchcost")), flags)
    }

    /// A run that a shell prepares; `script` ends in `exec "$0" "$@"`.
    fn within(&self, script: &str, flags: &str) -> Run {
        self.arguments(Run::within(script, &self.path("switchcost")), flags)
    }

    fn arguments(&self, run: Run, flags: &str) -> Run {
        let run = run
            .flags("run --budget 0s --plan")
            .arg(self.path("plan.toml"));
        let run = match flags.contains("--resume") {
            true => run,
            false => run.arg("--out").arg(self.path("out.jsonl")),
        };
        run.flags(flags)
    }

    fn records(&self) -> Vec<Record> {
        records(&self.path("out.jsonl"))
    }
}

/// A file that can be executed from another place. (A link of it would do, but for other users
/// who may not reach where it leads.)
fn place(from: &Path, to: &Path) {
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).unwrap();
    }
}

/// The records of a file, each of which is whole.
fn records(path: &Path) -> Vec<Record> {
    let text = fs::read_to_string(path).unwrap();
    assert!(
        text.is_empty() || text.ends_with('\n'),
        "a line is cut: {text}"
    );
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What went wrong with the runs of a program, in order.
fn errors<'a>(records: &'a [Record], program: &str) -> Vec<&'a str> {
    let of_program = records.iter().filter(|r| r.benchmark == program);
    of_program.filter_map(|r| r.error.as_deref()).collect()
}
