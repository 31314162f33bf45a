//! The programs of this workspace, each held to the contract: one line a program.

use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use switchcost::plan::built_in_tables;
use switchcost::programs::Programs;

use super::check;
use super::subject::{Level, Subject};
use crate::support::{RUNNER, skip};

/// Faults of programs whose tasks are joined by `chain`'s links.
const LINK: &str = "fail panic close absent corrupt hang";

/// Faults where one thread does all the work: no task dies or is absent.
const ALONE: &str = "fail panic corrupt";

/// A test for each line: its name, the program, flags that keep it small, its faults.
macro_rules! programs {
    ($($test:ident: $program:literal, $flags:literal, $faults:expr;)*) => {
        /// Names of all programs, for cargo.
        const PROGRAMS: &[&str] = &[$($program),*];

        $(
            #[test]
            fn $test() {
                conforms($program, $flags, $faults);
            }
        )*
    };
}

programs! {
    thread_brigade: "thread-brigade", "", LINK;
    thread_brigade_with_large_tokens: "thread-brigade", "--transport socketpair --bytes 70000 --tokens 2 --shuffle 7", "";
    one_thread_brigade: "one-thread-brigade", "", ALONE;
    one_thread_brigade_nonblocking: "one-thread-brigade", "--nonblocking", ALONE;
    async_brigade: "async-brigade", "", LINK;
    process_brigade: "process-brigade", "", LINK;
    thread_mem_brigade: "thread-mem-brigade", "", LINK;
    async_creation: "async-creation", "", "";
    blocking_strategies: "blocking-strategies", "", "";
}

/// The programs in Go, held to what a runner relies on.
#[test]
fn goroutines() {
    let tables = built_in_tables().unwrap();
    let names = tables.keys().filter(|name| name.starts_with("goroutine-"));
    let programs = Programs::up_to_date(names.clone().map(String::as_str), &tables).unwrap();
    let failures = names.map(|name| {
        if let Some(why) = programs.missing(name) {
            skip(&format!("{name}: {why}"));
            return String::new();
        }
        let subject = Subject {
            path: programs.executable(name).unwrap().path.clone(),
            flags: String::new(),
            faults: Vec::new(),
            level: Level::Core,
        };
        check(&subject).join("\n")
    });
    let failures: Vec<String> = failures.collect();
    assert_eq!(failures.concat(), "");
}

/// Brings the programs up to date in the folder where the runner's executable is.
pub(crate) fn build() -> &'static Path {
    static FOLDER: OnceLock<&Path> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(RUNNER).parent().unwrap();
        let profile = match folder.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            other => other,
        };
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
            .args(["build", "--quiet", "--bins", "--profile", profile])
            .args(PROGRAMS.iter().map(|name| format!("--package={name}")))
            .arg("--target-dir")
            .arg(folder.parent().unwrap())
            .status();
        assert!(status.unwrap().success(), "cargo build");
        folder
    })
}

fn conforms(program: &str, flags: &str, faults: &str) {
    let failures = check(&Subject {
        path: build().join(program),
        flags: flags.to_owned(),
        faults: faults.split_whitespace().map(str::to_owned).collect(),
        level: Level::Full,
    });
    assert!(
        failures.is_empty(),
        "{program} {flags}\n{}",
        failures.join("\n")
    );
}

/// A program of anybody's: `SWITCHCOST_CHECK='core PATH FLAGS' cargo test -p switchcost any_program`,
/// or `full`.
#[test]
fn any_program() {
    let Ok(line) = env::var("SWITCHCOST_CHECK") else {
        return;
    };
    let mut words = line.splitn(3, ' ');
    let level = match words.next() {
        Some("core") => Level::Core,
        Some("full") => Level::Full,
        _ => panic!("SWITCHCOST_CHECK: write core or full, a path, and flags"),
    };
    let failures = check(&Subject {
        path: words.next().unwrap_or("").into(),
        flags: words.next().unwrap_or("").to_owned(),
        faults: Vec::new(),
        level,
    });
    assert!(failures.is_empty(), "{line}\n{}", failures.join("\n"));
}
