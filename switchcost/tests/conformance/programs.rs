//! The programs of this workspace, each held to the contract: one line a program.

use std::env;
use std::path::Path;
use std::process::Command;

use super::check;
use super::subject::{Level, Subject};
use crate::support::{build, skip};

/// Faults of programs whose tasks are joined by `chain`'s links.
const LINK: &str = "fail panic close absent corrupt hang";

/// Faults where one thread does all the work: no task dies or is absent.
const ALONE: &str = "fail panic corrupt";

/// A test for each line: its name, the program, flags that keep it small, its faults.
macro_rules! programs {
    ($($test:ident: $program:literal, $flags:literal, $faults:expr;)*) => {
        /// Names of all programs.
        pub(crate) const PROGRAMS: &[&str] = &[$($program),*];

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
    thread_creation: "thread-creation", "", "";
    async_mem_brigade: "async-mem-brigade", "", LINK;
    smol_mem_brigade: "smol-mem-brigade", "", "";
    uring_brigade: "uring-brigade", "", LINK;
    compio_brigade: "compio-brigade", "", LINK;
    compio_brigade_with_large_tokens: "compio-brigade", "--transport socketpair --bytes 70000 --tokens 2 --shuffle 7", "";
    blocking_strategies: "blocking-strategies", "", "";
    thread_creation_with_used_stacks: "thread-creation", "--stack-depth 65536", "";
    everyday_work: "everyday-work", "", "";
    everyday_work_with_records: "everyday-work", "--work tls-record", "";
    everyday_work_with_pages: "everyday-work", "--work page-read", "";
    everyday_work_with_calls: "everyday-work", "--work getpid", "";
    async_mem_brigade_outside_the_pool: "async-mem-brigade", "--driver block-on --flavor multi-thread", "";
    body_stream: "body-stream", "--size 1KiB", "";
    body_stream_in_a_tmpfs: "body-stream", "--size 1KiB --store mmap-copy --tmpfs always", "";
    sparse_arrivals: "sparse-arrivals", "--every 20us", "";
    sparse_arrivals_on_a_pool: "sparse-arrivals", "--every 20us --on pool", "";
}

const GOROUTINES: [&str; 3] = ["goroutine-brigade", "goroutine-mem-brigade", "goroutine-creation"];

/// The programs in Go, held to what a runner relies on.
#[test]
fn goroutines() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/go");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let built = Command::new("go")
        .current_dir(sources)
        .args(["build", "-o"])
        .args([folder.path(), Path::new("./...")])
        .status();
    match built {
        Err(e) => return skip(&format!("programs in Go: {e}")),
        Ok(status) => assert!(status.success(), "go build: {status}"),
    }
    let failures = GOROUTINES.map(|program| {
        let subject = Subject {
            path: folder.path().join(program),
            flags: String::new(),
            faults: Vec::new(),
            level: Level::Core,
        };
        check(&subject).join("\n")
    });
    assert_eq!(failures.concat(), "");
}

fn conforms(program: &str, flags: &str, faults: &str) {
    let subject = Subject {
        path: build().join(program),
        flags: flags.to_owned(),
        faults: faults.split_whitespace().map(str::to_owned).collect(),
        level: Level::Full,
    };
    let first = subject.small("--iters 1").finish().unwrap();
    let refusals = ["io_uring is not available", "cannot mount a tmpfs"];
    if first.code == Some(1) && refusals.iter().any(|refusal| first.stderr.contains(refusal)) {
        return skip(&first.stderr);
    }
    let failures = check(&subject);
    assert!(failures.is_empty(), "{program} {flags}\n{}", failures.join("\n"));
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
