//! The benchmark executables, as cargo knows them.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use switchcost::goroutines::{self, Toolchain};

use super::process::Run;
use super::skip;

/// The runner's executable, beside which the benchmarks are.
pub(crate) const RUNNER: &str = env!("CARGO_BIN_EXE_switchcost");

/// One benchmark program.
pub(crate) struct Benchmark {
    /// Its name.
    pub(crate) name: String,
    /// Its executable.
    pub(crate) path: PathBuf,
    /// Its long flags, each with the values that `--help` lists for it.
    pub(crate) flags: BTreeMap<String, Vec<String>>,
}

impl Benchmark {
    /// A run of it.
    pub(crate) fn run(&self, flags: &str) -> Run {
        Run::of(&self.path).flags(flags).flags(self.light())
    }

    /// What keeps a run short that else moves megabytes in each iteration.
    pub(crate) fn light(&self) -> &'static str {
        match self.has_bodies() {
            true => "--size 1KiB",
            false => "",
        }
    }

    /// Whether its tasks receive bodies, each over a connection.
    pub(crate) fn has_bodies(&self) -> bool {
        self.has("--framing")
    }

    /// A run that is over at once.
    pub(crate) fn tiny(&self, flags: &str) -> Run {
        self.run("--tasks 3 --iters 4 --warmups 1").flags(flags)
    }

    /// A run that a shell prepares; `script` ends in `exec "$0" "$@"`.
    pub(crate) fn within(&self, script: &str, flags: &str) -> Run {
        Run::within(script, &self.path)
            .flags(flags)
            .flags(self.light())
    }

    /// Its name as the kernel knows it, which keeps 15 characters.
    pub(crate) fn comm(&self) -> &str {
        &self.name[..self.name.len().min(15)]
    }

    /// Whether it has a flag.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.contains_key(flag)
    }

    /// Whether a flag takes a value.
    pub(crate) fn takes(&self, flag: &str, value: &str) -> bool {
        let values = self.flags.get(flag);
        values.is_some_and(|values| values.iter().any(|listed| listed == value))
    }

    /// Whether its tasks are threads: these have stacks of a chosen size.
    pub(crate) fn has_threads(&self) -> bool {
        self.has("--stack-size")
    }

    /// Whether its I/O goes through a ring that it shares with the kernel.
    pub(crate) fn needs_io_uring(&self) -> bool {
        self.has("--multishot")
    }

    /// Whether this system lets it run at all. It does what every test takes for granted, or says
    /// that it has no io_uring.
    fn can_run(&self) -> bool {
        if !self.needs_io_uring() {
            return true;
        }
        let switched_off = fs::read_to_string("/proc/sys/kernel/io_uring_disabled")
            .is_ok_and(|value| value.trim() != "0");
        let run = self.tiny("").finish();
        let is_there = !run.stderr.contains("io_uring is not available");
        if switched_off || !is_there {
            skip(&format!(
                "{}: io_uring is not available to everybody here",
                self.name
            ));
        }
        is_there && !switched_off
    }

    /// Whether its tasks are processes.
    pub(crate) fn has_processes(&self) -> bool {
        self.name == "process-brigade"
    }

    /// The flags that choose a value of a flag: some are there for others only.
    pub(crate) fn choice(&self, flag: &str, value: &str) -> String {
        match (flag, value) {
            ("--transport", "slot") => "--transport slot --executor one-page".to_owned(),
            ("--faults", who) => format!("--faults {who} --store mmap"),
            ("--queue", bound) => format!("--queue {bound} --strategy dispatch"),
            _ => format!("{flag} {value}"),
        }
    }

    /// The flags that choose each of its transports, or none where there is nothing to choose.
    pub(crate) fn transports(&self) -> Vec<String> {
        match self.flags.get("--transport") {
            Some(values) => {
                let choices = values.iter().map(|value| self.choice("--transport", value));
                choices.collect()
            }
            None => vec![String::new()],
        }
    }

    /// The same with each executor that a transport is for.
    pub(crate) fn transports_on_executors(&self) -> Vec<String> {
        let mut variants = self.transports();
        for executor in self.flags.get("--executor").into_iter().flatten().skip(1) {
            let others = self.transports().into_iter();
            let others = others.filter(|flags| !flags.contains("--executor"));
            variants.extend(others.map(|flags| format!("{flags} --executor {executor}")));
        }
        variants
    }

    /// Whether its links may hold nothing, so that one hands over what the other takes at once.
    pub(crate) fn has_rendezvous(&self) -> bool {
        self.has("--gogc")
    }

    /// A shell's line that gives a run little address space, in KiB, and becomes the program; with the
    /// amount: `kib`, or the least of its multiples by two that its runtime starts in, which may reserve
    /// more than that for itself alone.
    pub(crate) fn in_space(&self, kib: u64) -> (String, u64) {
        let script = |kib| format!(r#"ulimit -v {kib} && exec "$0" "$@""#);
        let starts = |&kib: &u64| self.within(&script(kib), "--version").finish().code == 0;
        let mut sizes = (0..12).map(|doubled| kib << doubled);
        let kib = sizes.find(starts).expect("some address space is enough");
        (script(kib), kib)
    }

    /// Whether its links are file descriptors.
    pub(crate) fn has_pipes(&self) -> bool {
        self.takes("--transport", "pipe")
    }

    /// Whether a single process has the descriptors of all of them.
    pub(crate) fn has_descriptors(&self) -> bool {
        self.has_pipes() && !self.has_processes()
    }
}

/// Every bin target of the workspace but the runner's, and the programs in Go, built once; without what
/// cannot run or be built here.
pub(crate) fn all() -> &'static [Benchmark] {
    static ALL: OnceLock<Vec<Benchmark>> = OnceLock::new();
    ALL.get_or_init(|| {
        let names = names();
        assert!(!names.is_empty(), "the workspace has no benchmarks");
        let folder = build();
        let names = names.into_iter().chain(build_go(&folder));
        let found = names.map(|name| find(&folder, name));
        found.filter(Benchmark::can_run).collect()
    })
}

/// The benchmarks that have a flag.
pub(crate) fn with(flag: &str) -> impl Iterator<Item = &'static Benchmark> {
    all().iter().filter(move |benchmark| benchmark.has(flag))
}

/// The benchmarks that list this value for a flag.
pub(crate) fn offering(
    flag: &'static str,
    value: &'static str,
) -> impl Iterator<Item = &'static Benchmark> {
    all()
        .iter()
        .filter(move |benchmark| benchmark.takes(flag, value))
}

fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    command
}

fn names() -> Vec<String> {
    let mut command = cargo();
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "cargo metadata: {}", output.status);
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .flat_map(|package| package["targets"].as_array().unwrap())
        .filter(|target| target["kind"] == serde_json::json!(["bin"]))
        .map(|target| target["name"].as_str().unwrap().to_owned())
        .filter(|name| name != "switchcost")
        .collect()
}

/// Brings the executables up to date in the folder where the runner's is.
fn build() -> PathBuf {
    let folder = Path::new(RUNNER).parent().unwrap();
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        other => other,
    };
    let mut command = cargo();
    command
        .args(["build", "--quiet", "--workspace", "--bins"])
        .args(["--exclude", "switchcost", "--profile", profile])
        .arg("--target-dir")
        .arg(folder.parent().unwrap());
    let status = command.status().unwrap();
    assert!(status.success(), "cargo build: {status}");
    folder.to_owned()
}

/// Brings the programs in Go up to date there, and returns their names; none where nothing can build
/// them.
fn build_go(folder: &Path) -> Vec<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/go");
    let names = BTreeSet::from(goroutines::PROGRAMS);
    match Toolchain::find(sources) {
        Ok(go) => {
            go.build(&names, folder).unwrap();
            names.into_iter().map(str::to_owned).collect()
        }
        Err(why) => {
            skip(&format!("{}: {why}", goroutines::PROGRAMS.join(", ")));
            Vec::new()
        }
    }
}

fn find(folder: &Path, name: String) -> Benchmark {
    let path = folder.join(&name);
    let help = Run::of(&path).flags("--help").finish();
    let flags = flags(&help.expect(0).stdout);
    Benchmark { name, path, flags }
}

/// The long flags of a help text with the values that it lists. Help and version are none of the
/// program's own.
fn flags(help: &str) -> BTreeMap<String, Vec<String>> {
    let mut flags: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = None;
    let mut listing = false;
    for line in help.lines().map(str::trim) {
        let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
        let long = words.clone().take(2).find(|word| word.starts_with("--"));
        if let Some(flag) = long.filter(|_| line.starts_with('-') && !line.starts_with("- ")) {
            flags.insert(flag.to_owned(), Vec::new());
            current = Some(flag);
            listing = false;
        } else if line == "Possible values:" {
            listing = true;
        } else if line.is_empty() {
            listing = false;
        } else if let (true, Some("-"), Some(flag)) = (listing, words.next(), current) {
            let value = words.next().unwrap().trim_end_matches(':');
            flags.get_mut(flag).unwrap().push(value.to_owned());
        }
    }
    flags.remove("--help");
    flags.remove("--version");
    flags
}

#[test]
fn flags_and_their_values_are_read_from_the_help() {
    let help = "Options:\n      --tasks <N>\n          How many --things\n\n  -q, --quiet\n          \
                Print\n\n      --format <FORMAT>\n          How\n\n          Possible values:\n          \
                - text: for people\n          - json: one line\n          \n          [default: text]\n\n  \
                -h, --help\n";
    let flags = flags(help);
    assert_eq!(
        flags.keys().collect::<Vec<_>>(),
        ["--format", "--quiet", "--tasks"]
    );
    assert_eq!(flags["--format"], ["text", "json"]);
    assert!(flags["--tasks"].is_empty());
}
