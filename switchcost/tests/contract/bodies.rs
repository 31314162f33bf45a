//! The program that receives bodies: where it keeps them, by what strategies, what it makes of a
//! server that fails, and that it leaves nothing behind.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use harness::record::Record;
use nix::sys::signal::Signal::{self, SIGINT};

use crate::support::benchmarks::{Benchmark, with};
use crate::support::process::Run;
use crate::support::{is_installed, skip, until};

/// What the server's process is called.
const SERVER: &str = "body-server";

const SMALL: &str = "--tasks 3 --iters 4 --warmups 1 --size 100KiB";

/// Without end, and in files.
const ENDLESS: &str = "--tasks 3 --warmups 0 --iters 4000000000 --size 300KiB --store fs";

fn bodies() -> impl Iterator<Item = &'static Benchmark> {
    with("--framing")
}

/// A run without what makes it small.
fn run(benchmark: &Benchmark, flags: &str) -> Run {
    Run::of(&benchmark.path).flags(flags)
}

fn record(benchmark: &Benchmark, flags: &str) -> Record {
    let run = run(benchmark, SMALL).flags("--format json").flags(flags);
    run.finish().expect_quiet_success().record()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// Every store by every strategy, with who touches a map.
fn variants(benchmark: &Benchmark) -> Vec<String> {
    let mut variants = Vec::new();
    for store in &benchmark.flags["--store"] {
        for strategy in &benchmark.flags["--strategy"] {
            variants.push(format!("--store {store} --strategy {strategy}"));
            if store.starts_with("mmap") {
                variants.push(format!(
                    "--store {store} --strategy {strategy} --faults worker"
                ));
            }
        }
    }
    assert_eq!(variants.len(), 5 * 4 + 2 * 4);
    variants
}

#[test]
fn every_store_works_by_every_strategy_with_the_same_threads() {
    for benchmark in bodies() {
        for variant in variants(benchmark) {
            let record = record(benchmark, &format!("{variant} --no-neighbours"));
            assert_eq!(record.samples.unwrap().count, 4, "{variant}");
            assert_eq!(record.payload, Some(3 * 100 * 1024), "{variant}");
            let workers = record.runtime.unwrap().workers;
            let expected = if variant.contains("direct") { 8 } else { 4 };
            assert_eq!(workers, expected, "{variant}");
            let threads = record.peak_threads.unwrap();
            assert!(
                (u64::from(workers)..=8).contains(&threads),
                "{variant}: {threads}"
            );
            let has_files = !variant.contains("--store ram");
            assert_eq!(record.file_system.is_some(), has_files, "{variant}");
        }
    }
}

#[test]
fn either_framing_in_pieces_of_any_size_from_either_server() {
    for benchmark in bodies() {
        for server in &benchmark.flags["--server"] {
            for framing in &benchmark.flags["--framing"] {
                for chunk in ["100", "8KiB", "64MiB"] {
                    let flags = format!(
                        "--server {server} --framing {framing} --chunk {chunk} --no-neighbours"
                    );
                    let record = record(benchmark, &flags);
                    assert_eq!(record.samples.unwrap().count, 4, "{flags}");
                }
            }
        }
    }
}

#[test]
fn seeds_are_any_number_and_bodies_any_size() {
    for benchmark in bodies() {
        for seed in ["0", "18446744073709551615"] {
            record(benchmark, &format!("--seed {seed} --no-neighbours"));
        }
        for size in ["1", "8191", "8193", "1MiB"] {
            for store in &benchmark.flags["--store"] {
                let flags = format!("--tasks 2 --iters 2 --no-neighbours --store {store}");
                let run = run(benchmark, &flags).flags("--size").arg(size);
                run.finish().expect_quiet_success();
            }
        }
    }
}

#[test]
fn neighbours_are_heard_alone_and_beside_the_bodies() {
    for benchmark in bodies() {
        let with = record(benchmark, "");
        for name in ["heartbeat", "heartbeat_idle", "echo", "echo_idle"] {
            let heard = &with.distributions[name];
            assert!(heard.count >= 1 && heard.min > 0, "{name}");
        }
        assert!(with.distributions["heartbeat"].count >= 100);
        assert!(with.distributions["batch_beside"].count >= 4);
        let without = record(benchmark, "--no-neighbours");
        assert!(without.distributions.is_empty());
    }
}

#[test]
fn the_server_is_a_process_and_each_task_has_one_connection() {
    for benchmark in bodies() {
        for (server, ends, processes) in [("process", 3, "1"), ("same-runtime", 6, "0")] {
            let look = format!(
                r#"ls -l /proc/{{pid}}/fd | grep -c socket:; cat /proc/{{pid}}/task/{{pid}}/children |
                   tr ' ' '\n' | grep . | while read p; do cat /proc/$p/comm; done | grep -c {SERVER}; true"#
            );
            let flags = format!("-q --iters 9 --server {server}");
            let run = run(benchmark, "--tasks 3 --warmups 1 --size 10KiB").flags(&flags);
            let run = run.arg("--command").arg(look).finish();
            let run = run.expect_quiet_success();
            // The server in the same runtime listens there, too.
            let open = if processes == "1" { ends } else { ends + 1 };
            let lines: Vec<&str> = run.stdout.lines().collect();
            assert_eq!(lines, [open.to_string().as_str(), processes], "{run}");
        }
    }
}

#[test]
fn a_server_that_fails_is_told_with_the_body_and_ends_the_run() {
    for benchmark in bodies() {
        for framing in &benchmark.flags["--framing"] {
            for (deed, words) in [
                ("cut", "body 7: "),
                (
                    "wrong",
                    "body 7 came out with 102400 bytes, the largest 127",
                ),
                ("die", "the server was killed by SIGKILL"),
                (
                    "stall",
                    "nothing has come of any body for 300.0ms (--timeout)",
                ),
            ] {
                // The third of the second timed lap.
                let flags = format!("--framing {framing} --test-server {deed}@7 --timeout 300ms");
                let run = run(benchmark, SMALL).flags(&flags).flags("--format json");
                let run = run
                    .start()
                    .finish_all()
                    .expect(1)
                    .expect_complaint(&[words]);
                let record = run.record();
                assert!(record.partial, "{run}");
                assert!(record.error.is_some_and(|e| e.contains(words)), "{deed}");
                assert_eq!(
                    record.samples.map(|samples| samples.count),
                    Some(1),
                    "{deed}"
                );
            }
        }
        let flags = "--framing chunked --test-server short@7";
        let short = run(benchmark, SMALL).flags(flags).finish();
        let words = ["body 7 came out with 51200 bytes", "should have 102400"];
        short.expect(1).expect_complaint(&words);
        let flags = "--framing content-length --test-server short@7";
        let short = run(benchmark, SMALL).flags(flags).finish();
        short
            .expect(1)
            .expect_complaint(&["body 7: the response has other headers"]);
    }
}

#[test]
fn a_server_that_is_killed_from_outside_is_told() {
    for benchmark in bodies() {
        let running = run(benchmark, ENDLESS).start();
        until("the server runs", || running.process(SERVER).is_some());
        thread::sleep(Duration::from_millis(300));
        let server = running.process(SERVER).unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(server), Signal::SIGKILL).unwrap();
        let run = running.finish_all().expect(1);
        run.expect_complaint(&["the server was killed by SIGKILL"]);
    }
}

/// Neither while it runs, nor when it is ended, whatever ends it.
#[test]
fn nothing_is_ever_seen_in_the_folder_and_no_server_is_left() {
    for benchmark in bodies() {
        for signal in [Signal::SIGKILL, Signal::SIGQUIT, SIGINT] {
            let folder = tempfile::tempdir().unwrap();
            let without_core = r#"ulimit -c 0; exec "$0" "$@""#;
            let running = Run::within(without_core, &benchmark.path).flags(ENDLESS);
            let running = running.arg("--dir").arg(folder.path()).start();
            until("the server runs", || running.process(SERVER).is_some());
            let pid = running.pid();
            let has_file = || {
                let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
                let mut links = open.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
                links.any(|link| link.starts_with(folder.path()))
            };
            until("a file is open", has_file);
            assert!(is_empty(folder.path()), "while it runs");
            if signal == SIGINT {
                running.signal_all(signal);
                let run = running.finish_all().expect(130);
                assert!(run.stdout.starts_with("partial: "), "{run}");
            } else {
                assert_eq!(running.end_by(signal), Vec::<String>::new());
            }
            assert!(is_empty(folder.path()), "after {signal}");
        }
    }
}

#[test]
fn the_folder_is_that_of_the_flag_or_that_for_temporary_files() {
    for benchmark in bodies() {
        let folder = tempfile::tempdir().unwrap();
        let run = || run(benchmark, SMALL).flags("--format json --no-neighbours --store mmap");
        let runs = [
            run().arg("--dir").arg(folder.path()),
            run().env("TMPDIR", folder.path().to_str()),
        ];
        for run in runs {
            let record = run.finish().expect_quiet_success().record();
            let files = record.file_system.unwrap();
            assert_eq!(files.folder, folder.path().to_str().unwrap());
            assert!(files.kind.is_some_and(|kind| !kind.is_empty()));
        }
        let text = run().flags("--format text").arg("--dir").arg(folder.path());
        assert_eq!(text.finish().code, 2, "twice the same flag");
        let text = Run::of(&benchmark.path)
            .flags(SMALL)
            .flags("--store fs --dir");
        let text = text.arg(folder.path()).finish().expect_quiet_success();
        let words = format!("  files           in {} on ", folder.path().display());
        assert!(text.stdout.contains(&words), "{text}");
    }
}

#[test]
fn a_folder_that_cannot_take_the_files_is_told_beforehand() {
    for benchmark in bodies() {
        let run = |flags: &str| run(benchmark, "--iters 2 --store fs").flags(flags).finish();
        run("--dir /nonexistent").expect_refusal(2, &["--dir /nonexistent", "no such folder"]);
        run("--dir /proc/self/status").expect_refusal(2, &["--dir", "not a folder"]);
        let words = [
            "--dir /proc/self: cannot make a file",
            "name another folder",
        ];
        run("--dir /proc/self").expect_refusal(1, &words);
        let words = [
            "bodies of 1.000 TiB need",
            "are free there",
            "--size",
            "--dir",
        ];
        run("--size 1TiB").expect_refusal(1, &words);
        let small = r#"ulimit -f 100; exec "$0" "$@""#;
        let small = Run::within(small, &benchmark.path).flags("--iters 2 --store mmap");
        let words = ["--size 8.000 MiB", "ulimit -f", "lower --size"];
        small.finish().expect_refusal(1, &words);
    }
}

/// A small file system in memory with these options, in a folder of its own, for a script; the shell
/// ends with 77 where that cannot be had.
fn on_tmpfs(options: &str, script: &str) -> (tempfile::TempDir, String) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().display();
    let script =
        format!("D={folder}; mount -t tmpfs -o {options} none $D 2>/dev/null || exit 77; {script}");
    (place, script)
}

#[test]
fn a_folder_that_is_full_is_told_beforehand_or_when_it_is_met() {
    if !is_installed("unshare") {
        return skip("no unshare");
    }
    for benchmark in bodies() {
        let within = |options: &str, script: &str, flags: &str| {
            let (_place, script) = on_tmpfs(options, script);
            let run = Run::of("unshare").flags("-m sh -c").arg(script);
            run.arg(&benchmark.path).flags(flags).finish()
        };
        let beforehand = r#""$0" "$@" --dir $D"#;
        let flags = "--tasks 4 --iters 2 --size 1MiB --store fs";
        let run = within("size=3m", beforehand, flags);
        if run.code == 77 || run.stderr.contains("unshare") {
            return skip("no mount namespace can be made here");
        }
        let words = [
            "need 4.016 MiB",
            "3.000 MiB are free",
            "lower --tasks to 2 or less",
        ];
        run.expect_refusal(1, &words);
        within("size=5m", beforehand, flags).expect(0);
        let few = within("size=9m,nr_inodes=3", beforehand, flags);
        few.expect_refusal(1, &["as many files", "--tasks"]);

        let meanwhile = r#""$0" "$@" --dir $D &
            sleep 1; while kill -0 $! 2>/dev/null; do head -c 9m /dev/zero 2>/dev/null >>$D/fill; done
            wait $!"#;
        for store in ["fs", "mmap", "mmap-copy"] {
            let flags =
                format!("--tasks 3 --iters 4000000000 --warmups 0 --size 1MiB --store {store}");
            let run = within("size=5m", meanwhile, &flags).expect(1);
            let words = ["cannot write a body: No space left", "free some space"];
            let run = run.expect_complaint(&words);
            assert!(run.stdout.starts_with("partial: "), "{run}");
        }
    }
}

#[test]
fn huge_pages_of_a_tmpfs_are_in_the_record() {
    if !is_installed("unshare") {
        return skip("no unshare");
    }
    for benchmark in bodies() {
        for (options, huge) in [("size=8m,huge=always", "always"), ("size=8m", "never")] {
            let (_place, script) = on_tmpfs(options, r#""$0" "$@" --dir $D"#);
            let run = Run::of("unshare").flags("-m sh -c").arg(script);
            let run = run.arg(&benchmark.path).flags(SMALL);
            let run = run.flags("--store mmap --format json").finish();
            if run.code != 0 {
                return skip("no tmpfs with huge pages can be mounted here");
            }
            let files = run.record().file_system.unwrap();
            assert_eq!(files.kind.as_deref(), Some("tmpfs"));
            let seen = files.huge.unwrap();
            assert!([huge, "deny", "force"].contains(&seen.as_str()), "{seen}");
        }
    }
}

#[test]
fn without_a_loopback_it_says_so() {
    for benchmark in bodies() {
        if Run::of("unshare").flags("-n true").finish().code != 0 {
            return skip("no network namespace can be made here");
        }
        for server in &benchmark.flags["--server"] {
            let run = Run::of("unshare")
                .arg("-n")
                .arg(&benchmark.path)
                .flags(SMALL);
            let run = run.flags("--server").arg(server).finish();
            run.expect_refusal(1, &["127.0.0.1", "ip link set lo up"]);
        }
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for benchmark in bodies() {
        for (flags, words) in [
            ("--faults worker", ["--faults", "--store mmap"]),
            ("--store fs --faults worker", ["--faults", "--store mmap"]),
            ("--dir /tmp", ["--dir", "--store fs"]),
            ("--queue bounded", ["--queue", "--strategy dispatch"]),
            (
                "--server same-runtime --server-workers 1",
                ["--server-workers", "--server process"],
            ),
            ("--server-workers 0", ["--server-workers", "1..=1024"]),
            ("--threads 1", ["--threads", "2..=32768"]),
            ("--size 0", ["--size", "a byte at least"]),
            ("--size 65TiB", ["--size", "address space"]),
            ("--chunk 0", ["--chunk", "64 MiB"]),
            ("--chunk 65MiB", ["--chunk", "64 MiB"]),
            ("--seed -1", ["--seed", "-1"]),
            ("--timeout 1us", ["--timeout", "1ms"]),
            ("--heartbeat 9us", ["--heartbeat", "10us to 1s"]),
            ("--test-server sing@1", ["--test-server", "sing"]),
        ] {
            let run = run(benchmark, "--tasks 2 --iters 1").flags(flags).finish();
            run.expect_refusal(2, &words);
        }
    }
}

#[test]
fn what_the_limits_forbid_is_refused_by_its_flag() {
    for benchmark in bodies() {
        let within = |flags: &str| {
            let script = r#"ulimit -v 4000000; exec "$0" "$@""#;
            let run = Run::within(script, &benchmark.path).flags("--tasks 2 --iters 1");
            run.flags(flags).finish()
        };
        for store in ["ram", "ram-gather"] {
            let run = within(&format!("--store {store} --size 1TiB"));
            run.expect_refusal(1, &["lower --size", "ulimit -v"]);
        }
        let run = within("--threads 5000 --strategy dispatch");
        run.expect_refusal(1, &["lower --threads", "ulimit -v"]);
    }
}
