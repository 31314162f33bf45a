//! The programs of this workspace and of `peers`, each in a session of its own: one line a program.

use std::path::Path;
use std::process::Command;

use super::promises::Program;
use super::work::patiently;
use crate::support::house::executable;
use crate::support::{is_installed, skip};

/// Checks that programs pass each in its own way. The others are about code that those of a language share.
const OWN: [&str; 5] = [
    "describes itself",
    "answers requests",
    "keeps its claim",
    "times what it does",
    "needs what it says",
];

/// The same of a peer. The Rust programs promise more: no thread of theirs has a turn in a hold.
const RESTS: &str = "rests while held";

/// A test for each line: its name, the program, and flags that keep it small.
macro_rules! programs {
    ($($test:ident: $program:literal, $flags:literal;)*) => {
        /// Names of all programs.
        pub(crate) const PROGRAMS: &[&str] = &[$($program),*];

        $(
            #[test]
            fn $test() {
                keeps_its_promises(&Program::of($program, $flags));
            }
        )*
    };
}

programs! {
    thread_brigade: "thread-brigade", "";
    thread_brigade_with_several_tokens: "thread-brigade", "--transport socketpair --tokens 2";
    one_thread_brigade: "one-thread-brigade", "";
    one_thread_brigade_nonblocking: "one-thread-brigade", "--nonblocking";
    async_brigade: "async-brigade", "";
    process_brigade: "process-brigade", "";
    thread_mem_brigade: "thread-mem-brigade", "";
    async_creation: "async-creation", "";
    thread_creation: "thread-creation", "";
    async_mem_brigade: "async-mem-brigade", "";
    floors_of_boxed_futures: "floors", "--of boxed-future";
    floors_of_an_executor: "floors", "--of executor";
    pairs_of_threads: "pairs", "--chains 3 --trips 2 --placement chain";
    pairs_of_threads_in_memory: "pairs", "--chains 2 --trips 3 --over memory";
    pairs_of_tasks: "pairs", "--chains 2 --trips 3 --on tokio";
    pairs_of_tasks_on_a_cpu_each: "pairs", "--chains 3 --trips 2 --on tokio --over memory --flavor current-thread --placement chain";
    stream_of_threads: "stream", "--tokens 10 --capacity 0 --repeater";
    stream_of_tasks: "stream", "--tokens 10 --on tokio";
    stream_of_tasks_to_the_main_thread: "stream", "--tokens 10 --on tokio --repeater --consumer block-on";
    sleepers_that_are_threads: "sleepers", "--sleep 1ms --gate --stack-depth 65536";
    sleepers_that_are_tasks: "sleepers", "--sleep 1ms --on tokio --stack-depth 65536";
    sleepers_that_are_tasks_at_a_gate: "sleepers", "--sleep 1ms --on tokio --gate";
    uring_brigade: "uring-brigade", "";
    uring_brigade_with_several_tokens: "uring-brigade", "--transport socketpair --tokens 2";
    blocking_strategies: "blocking-strategies", "";
    command: "command", "--run true";
    everyday_work: "everyday-work", "";
    everyday_work_with_records: "everyday-work", "--work tls-record";
    everyday_work_with_pages: "everyday-work", "--work page-read";
    everyday_work_with_calls: "everyday-work", "--work getpid";
    everyday_work_with_a_walk: "everyday-work", "--work walk";
    everyday_work_with_page_faults: "everyday-work", "--work page-fault";
    everyday_work_with_yields: "everyday-work", "--work yield";
    body_stream: "body-stream", "--size 1KiB";
    body_stream_in_a_tmpfs: "body-stream", "--size 1KiB --store mmap-copy --tmpfs always";
    the_example_of_contributing: "examples/rendezvous-brigade", "";
    arrivals: "arrivals", "--rate 50";
    arrivals_without_a_wait: "arrivals", "--rate 50 --on io";
    arrivals_at_an_event_loop: "arrivals", "--rate 50 --on epoll";
    arrivals_at_a_pool: "arrivals", "--rate 50 --on epoll-pool";
    arrivals_at_one_thread_of_tokio: "arrivals", "--rate 50 --on tokio-current-thread";
    arrivals_at_threads: "arrivals", "--rate 50 --on thread";
    arrivals_at_a_task_each: "arrivals", "--rate 50 --on tokio-spawn";
    futex_table: "futex-table", "--idle 5 --futex-slots 4";
    futex_table_of_the_system: "futex-table", "--on wake --idle 5 --futex-slots 0 --evict 64KiB";
    waiting_for_a_task: "waiting", "--other-side same-cpu";
    waiting_for_a_task_on_a_busy_cpu: "waiting", "--on oneshot --other-side busy-cpu";
    waiting_for_a_thread: "waiting", "--on futex --other-side idle-cpu";
    waiting_on_a_ring: "waiting", "--on uring-msg-ring";
    waiting_for_timers: "waiting", "--on timerfd --armed 5";
    waiting_for_one_of_many: "waiting", "--on select-8-pending";
    waiting_for_a_lock: "waiting", "--on tokio-mutex --contenders 3";
    waiting_for_new_threads: "waiting", "--on spawn-blocking-cold";
    timers_of_threads: "timer-lateness", "--on sleep-slack-1ns";
    timers_of_threads_that_spin: "timer-lateness", "--on sleep-spin";
    timers_in_an_epoll: "timer-lateness", "--on timerfd";
    timers_of_tasks: "timer-lateness", "--on tokio";
    timers_of_tasks_at_intervals: "timer-lateness", "--on tokio-interval --firings 2";
    fan_out_by_a_futex: "fan-out", "--on futex";
    fan_out_by_a_condition_variable: "fan-out", "--on condvar";
    fan_out_by_a_watch: "fan-out", "--on watch";
    fan_out_by_a_broadcast: "fan-out", "--on broadcast";
    fan_out_by_a_notify: "fan-out", "--on notify";
    wake_latency: "wake-latency", "--slept 100us --keep-awake";
    burst_of_tasks: "burst", "";
    burst_of_threads: "burst", "--on thread --allocator glibc-2-arenas";
    arrivals_under_a_quota: "arrivals", "--rate 50 --quota 0.5";
    arrivals_at_one_thread_under_a_quota: "arrivals", "--rate 50 --quota 0.5 --on tokio-current-thread";
}

#[test]
fn another_allocator_is_a_library_that_the_dynamic_linker_loads() {
    let run = Program::of("burst", "--allocator libjemalloc.so.2").run("--iters 2").finish();
    if run.code == 1 && run.stderr.contains("cannot load it: install it") {
        return skip(&run.stderr);
    }
    assert!(run.expect(0).stdout.contains("\ntrimmed bytes"), "it shows what is left");
}

fn keeps_its_promises(program: &Program) {
    let first = patiently(|| program.run("--iters 5").finish());
    let refusals =
        ["io_uring is not available", "cannot mount a tmpfs", "cannot make a control group"];
    if first.code == 1 && refusals.iter().any(|refusal| first.stderr.contains(refusal)) {
        return skip(&first.stderr);
    }
    program.expect_result(&first.expect_quiet_success());
    program.follows_the_contract(|check| OWN.contains(&check));
    program.rests_completely();
    program.ends_at_a_signal();
    program.says_that_memory_is_refused();
    if is_installed("taskset") {
        program.describes_itself_on_one_cpu();
    }
}

/// Programs of `peers` in one language. `build` makes a file in a folder of the test's, and `run` is what starts it
/// there or in the sources. The first kind is held to the whole contract, as all share the code that follows it.
fn peers(tools: &[&str], build: &str, kinds: &[(&str, &'static str)]) {
    if let Some(tool) = tools.iter().find(|tool| !is_installed(tool)) {
        return skip(&format!("there is no {tool}"));
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut shell = Command::new("sh");
    let built = shell.args(["-c", build]).env("bin", folder.path()).current_dir(&sources);
    assert!(built.status().unwrap().success(), "{build}");
    for (place, &(run, flags)) in kinds.iter().enumerate() {
        let path = folder.path().join(format!("peer-{place}"));
        let run = run.replace("{peers}", &sources.display().to_string());
        let run = run.replace("{programs}", &crate::support::build().display().to_string());
        let bin = folder.path().display();
        executable(&path, &format!("#!/bin/sh\nbin={bin} && exec {run} \"$@\"\n"));
        let program = Program { path, flags };
        program.follows_the_contract(|check| place == 0 || check == RESTS || OWN.contains(&check));
    }
}

#[test]
fn python() {
    let brigade = "{peers}/python/brigade.py";
    let kinds = [
        ("{peers}/python/skeleton.py", ""),
        (brigade, ""),
        (brigade, "--tasks-are threads"),
        (brigade, "--kind creation"),
    ];
    peers(&["python3"], "true", &kinds);
}

#[test]
fn node() {
    let kinds = ["--kind creation", ""];
    peers(&["node"], "true", &kinds.map(|flags| ("{peers}/node/brigade.mjs", flags)));
}

#[test]
fn cpp() {
    let build = "g++ -std=c++20 -pthread -o $bin/cpp cpp/brigade.cpp";
    peers(&["g++"], build, &["", "--tasks-are threads"].map(|flags| ("$bin/cpp", flags)));
}

#[test]
fn go() {
    let kinds = [
        ("$bin/goroutine-pairs", "--chains 3 --trips 2"),
        ("{programs}/arrivals --on $bin/goroutine-server", "--rate 50"),
        ("$bin/goroutine-mem-brigade", "--tokens 2"),
        ("$bin/goroutine-pairs", "--chains 2 --over-memory"),
        ("$bin/goroutine-stream", "--tokens 10"),
        ("$bin/goroutine-sleepers", "--sleep 1ms --gate --stack-depth 4096"),
        ("$bin/goroutine-timers", "--firings 2"),
        ("$bin/goroutine-creation", ""),
        ("$bin/tls-handshake", ""),
    ];
    peers(&["go"], "cd go && go build -o $bin ./goroutine-... ./tls-handshake", &kinds);
}

#[test]
fn java() {
    let run = "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp $bin Brigade";
    peers(&["java", "javac"], "javac -d $bin java/Brigade.java", &[(run, "--tasks-are platform")]);
}
