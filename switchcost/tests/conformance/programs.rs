//! The programs of this workspace, each held to the contract: one line a program.

use std::path::Path;
use std::process::Command;

use switchcost::check::{Checked, Conformity, check};

use super::promises::Program;
use crate::support::house::executable;
use crate::support::process::Run;
use crate::support::{build, is_installed, skip};

/// Faults of programs whose tasks are joined by `chain`'s links.
const LINK: &str = "fail panic close absent corrupt";

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
    thread_brigade_with_several_tokens: "thread-brigade", "--transport socketpair --tokens 2 --shuffle 7", "";
    thread_brigade_beside_idle_tasks: "thread-brigade", "--idle 5", "";
    thread_brigade_of_chains: "thread-brigade", "--chains 3 --trips 2 --placement chain", "";
    thread_brigade_of_chains_beside_idle_tasks: "thread-brigade", "--chains 2 --idle 5", "";
    one_thread_brigade: "one-thread-brigade", "", ALONE;
    one_thread_brigade_nonblocking: "one-thread-brigade", "--nonblocking", ALONE;
    async_brigade: "async-brigade", "", LINK;
    async_brigade_beside_idle_tasks: "async-brigade", "--idle 5", "";
    async_brigade_of_chains: "async-brigade", "--chains 2 --trips 3", "";
    async_brigade_of_chains_on_a_cpu_each: "async-brigade", "--chains 3 --trips 2 --flavor current-thread --placement chain --idle 5", "";
    async_mem_brigade_beside_timers: "async-mem-brigade", "--idle 5 --idle-in timer", "";
    process_brigade: "process-brigade", "", LINK;
    thread_mem_brigade: "thread-mem-brigade", "", LINK;
    thread_mem_brigade_of_chains: "thread-mem-brigade", "--chains 2 --trips 3 --tokens 2", "";
    async_creation: "async-creation", "", "";
    thread_creation: "thread-creation", "", "";
    thread_creation_by_clone: "thread-creation", "--floor", "";
    async_mem_brigade: "async-mem-brigade", "", LINK;
    async_mem_brigade_of_chains: "async-mem-brigade", "--chains 2 --trips 3 --flavor multi-thread", "";
    async_mem_brigade_of_chains_on_a_cpu_each: "async-mem-brigade", "--chains 3 --trips 2 --placement chain --idle 5", "";
    smol_mem_brigade: "smol-mem-brigade", "", "";
    uring_brigade: "uring-brigade", "", LINK;
    compio_brigade: "compio-brigade", "", LINK;
    compio_brigade_with_several_tokens: "compio-brigade", "--transport socketpair --tokens 2 --shuffle 7", "";
    blocking_strategies: "blocking-strategies", "", "";
    thread_creation_with_used_stacks: "thread-creation", "--stack-depth 65536", "";
    everyday_work: "everyday-work", "", "";
    everyday_work_with_records: "everyday-work", "--work tls-record", "";
    everyday_work_with_pages: "everyday-work", "--work page-read", "";
    everyday_work_with_calls: "everyday-work", "--work getpid", "";
    everyday_work_with_page_faults: "everyday-work", "--work page-fault", "";
    async_mem_brigade_outside_the_pool: "async-mem-brigade", "--driver block-on --flavor multi-thread", "";
    body_stream: "body-stream", "--size 1KiB", "";
    body_stream_in_a_tmpfs: "body-stream", "--size 1KiB --store mmap-copy --tmpfs always", "";
    the_example_of_contributing: "examples/rendezvous-brigade", "", "";
    sparse_arrivals: "sparse-arrivals", "--every 20us", "";
    sparse_arrivals_on_a_pool: "sparse-arrivals", "--every 20us --on pool", "";
    arrivals_under_a_load: "sparse-arrivals", "--load 20 --work 20us", "";
    arrivals_under_a_load_on_each_cpu: "sparse-arrivals", "--load 20 --work 20us --on tokio-per-cpu", "";
    arrivals_under_a_load_at_futexes: "sparse-arrivals", "--load 20 --work 20us --on pool-futex", "";
}

/// A program of `peers` in another language, held to what a runner relies on. `compile` makes a file in a folder
/// of the test's, and `run` is what starts it there or in the sources; where a tool is missing, a test skips.
fn peer(tools: &[&str], compile: &str, run: &str, flags: &'static str) {
    if let Some(tool) = tools.iter().find(|tool| !is_installed(tool)) {
        return skip(&format!("{run} {flags}: there is no {tool}"));
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("peer");
    let script = format!("#!/bin/sh\nbin={} && exec {run} \"$@\"\n", folder.path().display());
    let script = script.replace("{peers}", &sources.display().to_string());
    executable(&path, &script.replace("{programs}", &build().display().to_string()));
    let mut shell = Command::new("sh");
    let built = shell.args(["-c", compile]).env("bin", folder.path()).current_dir(sources);
    assert!(built.status().unwrap().success(), "{compile}");
    follows_the_contract(&Program { path, flags, faults: "" });
}

macro_rules! peers {
    ($($test:ident: $tools:expr, $build:literal, $run:literal, $flags:literal;)*) => {$(
        #[test]
        fn $test() {
            peer(&$tools, $build, $run, $flags);
        }
    )*};
}

peers! {
    python_skeleton: ["python3"], "true", "{peers}/python/skeleton.py", "";
    python_tasks: ["python3"], "true", "{peers}/python/brigade.py", "";
    python_threads: ["python3"], "true", "{peers}/python/brigade.py", "--tasks-are threads";
    python_sleepers: ["python3"], "true", "{peers}/python/brigade.py", "--kind sleepers --sleep 1ms";
    node_functions: ["node"], "true", "{peers}/node/brigade.mjs", "";
    node_creation: ["node"], "true", "{peers}/node/brigade.mjs", "--kind creation";
    cpp_coroutines: ["g++"], "g++ -std=c++20 -O2 -pthread -o $bin/cpp cpp/brigade.cpp", "$bin/cpp", "";
    cpp_threads: ["g++"], "g++ -std=c++20 -O2 -pthread -o $bin/cpp cpp/brigade.cpp", "$bin/cpp", "--tasks-are threads";
    goroutines: ["go"], "cd go && go build -o $bin ./goroutine-brigade", "$bin/goroutine-brigade", "";
    goroutines_under_a_load: ["go"], "cd go && go build -o $bin ./goroutine-server", "{programs}/sparse-arrivals --server $bin/goroutine-server", "--load 20 --work 20us";
    goroutines_in_memory: ["go"], "cd go && go build -o $bin ./goroutine-mem-brigade", "$bin/goroutine-mem-brigade", "--chains 3 --trips 2 --tokens 2";
    goroutine_creation: ["go"], "cd go && go build -o $bin ./goroutine-creation", "$bin/goroutine-creation", "";
    java_threads: ["java", "javac"], "javac -d $bin java/Brigade.java", "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp $bin Brigade", "--tasks-are platform";
}

fn conforms(program: &str, flags: &'static str, faults: &'static str) {
    let path = build().join(program);
    let first = Run::of(&path).flags("--tasks 3 --warmup 2 --iters 1").flags(flags).finish();
    let refusals = ["io_uring is not available", "cannot mount a tmpfs"];
    if first.code == 1 && refusals.iter().any(|refusal| first.stderr.contains(refusal)) {
        return skip(&first.stderr);
    }
    let program = Program { path, flags, faults };
    follows_the_contract(&program);
    program.keeps_its_promises();
}

/// One of a thread for each task, one of several processes, and one of a runtime.
#[test]
fn what_all_programs_promise_is_kept() {
    for path in ["thread-brigade", "process-brigade", "async-brigade"] {
        Program { path: build().join(path), flags: "", faults: "" }.keeps_those_of_all();
    }
}

/// Makes the checks of `switchcost check`.
fn follows_the_contract(program: &Program) {
    let Program { path, flags, .. } = program;
    for Checked { check, result } in check(&program.candidate(), |_| {}) {
        let path = path.display();
        match result {
            Conformity::Passed => {}
            Conformity::Failed(why) => panic!("{path} {flags}: {check}: {why}"),
            Conformity::Skipped(why) => skip(&format!("{path} {flags}: {check}: {why}")),
        }
    }
}
