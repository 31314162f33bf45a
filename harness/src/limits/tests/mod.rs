//! Whole systems, as small trees of the files that they show.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::links::Transport;

mod cgroups;
mod robust;
mod room;
mod whole;

/// A tree of fixture files, removed when it goes.
struct Tree(PathBuf);

impl Tree {
    /// A plain system: an ordinary user, no cgroups, roomy limits.
    fn plain() -> Tree {
        Tree::empty()
            .file("proc/self/limits", &rlimits("20000", "90000", "unlimited"))
            .file("proc/self/status", &status(1000, 0))
            .file("proc/self/maps", MAPS)
            .file("proc/self/fd/0", "")
            .file("proc/self/fd/1", "")
            .file("proc/self/fd/2", "")
            .file("proc/loadavg", "0.10 0.20 0.30 2/700 4711\n")
            .file("proc/meminfo", MEMINFO)
            .file("proc/7/status", &status(1000, 0))
            .file("proc/8/status", &status(0, 0))
            .file("proc/sys/fs/nr_open", "1048576\n")
            .file("proc/sys/fs/file-max", "9223372036854775807\n")
            .file("proc/sys/fs/file-nr", "5000\t0\t9223372036854775807\n")
            .file("proc/sys/kernel/pid_max", "4194304\n")
            .file("proc/sys/kernel/threads-max", "190000\n")
            .file("proc/sys/vm/max_map_count", "65530\n")
            .file("proc/sys/vm/overcommit_memory", "0\n")
    }

    fn empty() -> Tree {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("limits-{}-{count}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).unwrap();
        Tree(root)
    }

    fn file(self, path: &str, text: &str) -> Tree {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn without(self, path: &str) -> Tree {
        fs::remove_file(self.0.join(path)).unwrap();
        self
    }

    fn limits(&self) -> Limits {
        Limits::read_under(&self.0)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MAPS: &str = "\
55d0c0000000-55d0c0001000 r-xp 00000000 fe:00 1 /bin/x\n\
7ffc96ab0000-7ffc96ad1000 rw-p 00000000 00:00 0                          [stack]\n\
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

const MEMINFO: &str = "\
MemTotal:       16777216 kB\n\
MemFree:          100000 kB\n\
MemAvailable:    8388608 kB\n\
SwapTotal:       1000000 kB\n\
CommitLimit:     4194304 kB\n\
Committed_AS:    1048576 kB\n";

fn rlimits(files: &str, processes: &str, space: &str) -> String {
    format!(
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max data size             unlimited            unlimited            bytes     \n\
         Max processes             {processes}                96365                processes \n\
         Max open files            1024                 {files}                files     \n\
         Max address space         {space}            unlimited            bytes     \n"
    )
}

/// A process of `uid` with 10 threads, and the capabilities given.
fn status(uid: u32, effective: u64) -> String {
    format!(
        "Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nVmSize:\t   10240 kB\nVmData:\t    1024 kB\n\
         Threads:\t10\nCapEff:\t{effective:016x}\nCapBnd:\t000001ffffffffff\n"
    )
}

fn threads() -> Demand {
    Demand {
        fixed: Need {
            threads: 3,
            maps: 100,
            memory: 1 << 20,
            ..Need::NONE
        },
        per_task: Need::std_thread(2 << 20),
        ..Demand::default()
    }
}

fn pipes() -> Demand {
    Demand {
        fixed: Need {
            descriptors: 2,
            ..Need::NONE
        },
        per_task: Need {
            descriptors: 2,
            ..Need::NONE
        },
        ..Demand::default()
    }
}

/// Name, source, value and what is in use of every limit on `resource`.
fn seen(limits: &Limits, resource: Resource) -> Vec<(&str, &str, u64, u64)> {
    limits
        .iter()
        .filter(|limit| limit.resource == resource)
        .map(|limit| {
            (
                limit.name.as_str(),
                limit.source.as_str(),
                limit.value,
                limit.in_use,
            )
        })
        .collect()
}

fn remedies(limits: &Limits, demand: &Demand, tasks: u64) -> Vec<String> {
    let exceeded = limits.check(demand, tasks).unwrap_err();
    let remedies = exceeded.shortages.into_iter().map(|short| short.remedy);
    remedies.collect()
}
