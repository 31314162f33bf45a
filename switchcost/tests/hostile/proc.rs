//! No /proc, or one that tells little.

use harness::notes::Note;
use harness::record::Record;

use super::{Installed, TINY, mounted, mounts};
use crate::support::benchmarks::{all, with};
use crate::support::skip;

/// What may be wrong with /proc, and whether the process can still look at itself.
const RESTRICTED: [(&str, &str, bool); 5] = [
    ("not mounted", "umount -l /proc", false),
    ("empty", "mount -t tmpfs none /proc", false),
    (
        "without other processes",
        "mount -t proc -o hidepid=2 none /proc",
        true,
    ),
    ("read-only", "mount -o remount,bind,ro /proc", true),
    (
        "masked",
        "mount -t tmpfs none /proc/sys && mount --bind /dev/null /proc/meminfo && \
         mount --bind /dev/null /proc/stat",
        true,
    ),
];

fn unreadable(record: &Record) -> Vec<&str> {
    let files = record.notes.iter().filter_map(|note| match note {
        Note::Unreadable { files } => Some(files),
        _ => None,
    });
    files.flatten().map(String::as_str).collect()
}

#[test]
fn every_program_measures_without_it_and_says_what_it_could_not_read() {
    if let Err(why) = mounts() {
        return skip(why);
    }
    for (what, prepare, has_self) in RESTRICTED {
        for benchmark in all() {
            let run = benchmark.within(&mounted(prepare), TINY).finish();
            if run.code == 77 {
                skip(&format!("/proc cannot be made {what} here"));
                break;
            }
            let record = run.expect_quiet_success().record();
            let samples = record.samples.as_ref().unwrap();
            assert_eq!(samples.count, 4, "{what}: {}", benchmark.name);
            let memory = record.memory.unwrap().at_rest.unwrap();
            let files = unreadable(&record);
            if has_self {
                assert!(memory.resident.is_some(), "{what}: {}", benchmark.name);
            } else {
                // Unknown is not zero.
                assert_eq!(memory.resident, None, "{what}: {}", benchmark.name);
                assert_eq!(record.machine.kernel_release, None);
                assert_eq!(record.interference.unwrap().steal, None);
                assert!(
                    files.contains(&"/proc/self/smaps_rollup")
                        && files.contains(&"/proc/self/limits")
                        && files.contains(&"/proc/stat"),
                    "{files:?}"
                );
            }
            let untold = files.contains(&"/proc/PID/status of the tasks");
            assert_eq!(untold, record.usage.is_none(), "{what}: {files:?}");
            assert_eq!(untold, benchmark.has_processes() && !has_self, "{what}");
            if what == "masked" {
                assert_eq!(files, ["/proc/meminfo", "/proc/stat"]);
                assert_eq!(record.machine.memory_total_bytes, None);
            }
        }
    }
}

#[test]
fn counters_that_need_it_are_absent_with_a_reason() {
    if let Err(why) = mounts() {
        return skip(why);
    }
    for benchmark in with("--counters") {
        let run = benchmark.within(&mounted("umount -l /proc"), TINY);
        let run = run.flags("--counters").finish();
        if run.code == 77 {
            return skip("/proc cannot be taken away here");
        }
        let counters = run.expect_quiet_success().record().counters.unwrap();
        assert_eq!((counters.iterations, counters.reads), (4, None));
        assert_eq!(counters.interrupts.wakeups(), None);
        let absent: usize = counters.absent.iter().map(|a| a.events.len()).sum();
        assert_eq!(counters.events.len() + absent, 14, "{counters:?}");
    }
}

#[test]
fn its_text_says_so_too() {
    if let Err(why) = mounts() {
        return skip(why);
    }
    let run = all()[0].within(&mounted("umount -l /proc"), "--tasks 3 --iters 4");
    let run = run.finish();
    if run.code == 77 {
        return skip("/proc cannot be taken away here");
    }
    let run = run.expect_quiet_success();
    assert!(run.stdout.contains("/proc/self/limits"), "{run}");
    assert!(run.stdout.contains("cannot be read here"), "{run}");
    assert!(!run.stdout.contains("  memory "), "nothing known: {run}");
}

#[test]
fn the_runner_finds_its_programs_and_makes_its_tables() {
    if let Err(why) = mounts() {
        return skip(why);
    }
    let installed = Installed::new();
    for (what, prepare, has_self) in RESTRICTED {
        let run = installed.plan(&mounted(prepare)).finish();
        if run.code == 77 {
            skip(&format!("/proc cannot be made {what} here"));
            continue;
        }
        let run = run.expect(0);
        assert!(run.stdout.contains("÷ task"), "{what}: {run}");
        assert!(!run.stdout.contains("failed"), "{what}: {run}");
        let warned = run.stdout.contains("files of the kernel could not be read");
        assert_eq!(warned, !has_self || what == "masked", "{what}: {run}");
    }
}

#[test]
fn a_runner_that_cannot_know_where_it_is_says_how_to_start_it() {
    if let Err(why) = mounts() {
        return skip(why);
    }
    let installed = Installed::new();
    // Found in PATH, its name is all that it is told.
    let prepare = "umount -l /proc";
    let run = installed
        .plan(&mounted(prepare).replace(r#"exec "$0" "$@"'"#, r#"PATH=. exec switchcost "$@"'"#))
        .finish();
    match run.code {
        77 => skip("/proc cannot be taken away here"),
        _ => drop(run.expect_refusal(1, &["cannot find this executable", "./switchcost"])),
    }
}
