//! The limits of what is counted: descriptors, threads and memory maps.

use std::fs;

use super::Resource;
use super::limit::{Limit, MOST_PIDS, Raise, Rlimit};
use super::system::{CAP_SYS_ADMIN, CAP_SYS_RESOURCE, System, field, first_number, rlimit};

/// The largest fs.nr_open: `INT_MAX` rounded down to whole words of bits
/// (`sysctl_nr_open_max`, fs/file_table.c).
const MOST_OPEN: u64 = 2_147_483_584;

/// Once thread numbers have wrapped, those below 300 are not given out again
/// (`RESERVED_PIDS`, kernel/pid.c).
const RESERVED_PIDS: u64 = 300;

/// The descriptor, thread and map limits, in this order.
pub(super) fn limits(system: &System) -> Vec<Limit> {
    let rlimits = system.read("/proc/self/limits").unwrap_or_default();
    [
        system.descriptors(&rlimits),
        system.threads(&rlimits),
        system.maps(),
    ]
    .concat()
}

impl System {
    /// fs.nr_open comes before the process's own limit, which it bounds: a
    /// hard limit above it is refused even to root (do_prlimit, kernel/sys.c).
    fn descriptors(&self, rlimits: &str) -> Vec<Limit> {
        // One more than are open: the directory itself is, while it is read.
        let open = fs::read_dir(self.below_root("/proc/self/fd"))
            .ok()
            .map(|entries| entries.flatten().count() as u64);
        let nr_open = self.sysctl("fs.nr_open", MOST_OPEN, Resource::Descriptors, open);
        let own = rlimit(rlimits, "Max open files")
            .zip(open)
            .map(|((_, hard), open)| {
                let nr_open = nr_open.as_ref().map_or(u64::MAX, |limit| limit.value);
                self.limit(
                    "open files (hard limit, ulimit -Hn)",
                    "/proc/self/limits",
                    Resource::Descriptors,
                    (hard, open),
                    open_files(hard, nr_open),
                )
            });
        // CAP_SYS_ADMIN goes above it (alloc_empty_file, fs/file_table.c).
        let file_max = (!self.can(CAP_SYS_ADMIN))
            .then(|| {
                let text = self.read("/proc/sys/fs/file-nr")?;
                let allocated = text.split_whitespace().next()?.parse().ok();
                let most = i64::MAX as u64;
                self.sysctl("fs.file-max", most, Resource::Descriptors, allocated)
            })
            .flatten();
        [nr_open, own, file_max]
            .into_iter()
            .flatten()
            .filter(|limit| limit.value < i64::MAX as u64)
            .collect()
    }

    fn threads(&self, rlimits: &str) -> Vec<Limit> {
        let own = rlimit(rlimits, "Max processes")
            .filter(|(soft, _)| *soft != u64::MAX && !self.may_pass_nproc())
            .zip(self.threads_of_user())
            .map(|((soft, hard), in_use)| {
                let raise = Raise::Rlimit(Rlimit {
                    option: "nproc",
                    flag: 'u',
                    unit: 1,
                    hard,
                    prefer_below: u64::MAX,
                    most: MOST_PIDS,
                });
                self.limit(
                    "user processes (ulimit -u)",
                    "/proc/self/limits",
                    Resource::Threads,
                    (soft, in_use),
                    raise,
                )
            });
        // The fourth field is runnable/all, the kernel's own threads included.
        let all = self.read("/proc/loadavg").and_then(|text| {
            let field = text.split_whitespace().nth(3)?;
            field.split_once('/')?.1.parse::<u64>().ok()
        });
        // Kernel fact: the sysctl takes up to FUTEX_TID_MASK (kernel/fork.c).
        const MOST_THREADS: u64 = 0x3fff_ffff;
        let threads_max = self.sysctl("kernel.threads-max", MOST_THREADS, Resource::Threads, all);
        let numbers = all.map(|all| all.saturating_add(RESERVED_PIDS));
        let pid_max = self.sysctl("kernel.pid_max", MOST_PIDS, Resource::Threads, numbers);
        [own, threads_max, pid_max].into_iter().flatten().collect()
    }

    /// Kernel fact (copy_process, kernel/fork.c): RLIMIT_NPROC does not bind
    /// the system's own root, nor who holds one of these two capabilities.
    fn may_pass_nproc(&self) -> bool {
        let root = self.first_namespace && self.real_uid == Some(0);
        root || self.can(CAP_SYS_RESOURCE) || self.can(CAP_SYS_ADMIN)
    }

    /// Threads of every process of our real user, as far as they can be seen:
    /// those in other pid namespaces count too, but do not show.
    fn threads_of_user(&self) -> Option<u64> {
        let real_uid = self.real_uid?;
        let mut threads = 0u64;
        for entry in fs::read_dir(self.below_root("/proc")).ok()?.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().filter(|name| is_number(name)) else {
                continue;
            };
            // A process may end while the list is read.
            let Some(status) = self.read(&format!("/proc/{pid}/status")) else {
                continue;
            };
            let owner = field(&status, "Uid:").and_then(first_number);
            if owner == Some(real_uid) {
                let own = field(&status, "Threads:").and_then(first_number);
                threads = threads.saturating_add(own.unwrap_or(1));
            }
        }
        Some(threads)
    }

    fn maps(&self) -> Vec<Limit> {
        let maps = self.read("/proc/self/maps");
        let in_use = maps.map(|maps| maps.lines().count() as u64);
        let most = i32::MAX as u64;
        let limit = self.sysctl("vm.max_map_count", most, Resource::Maps, in_use);
        limit.into_iter().collect()
    }
}

/// The descriptor limit of a process that has none left, which can read no
/// file: what is in use is then the soft limit itself.
pub(super) fn descriptor_limit(soft: u64, hard: u64) -> Limit {
    Limit {
        name: "open files (ulimit -n)".to_owned(),
        source: "getrlimit(2)".to_owned(),
        resource: Resource::Descriptors,
        value: soft,
        in_use: soft,
        raise: open_files(hard, u64::MAX),
        note: Some("if refused: raise fs.nr_open first; CAP_SYS_RESOURCE is needed"),
        as_root: nix::unistd::geteuid().is_root(),
    }
}

fn open_files(hard: u64, nr_open: u64) -> Raise {
    Raise::Rlimit(Rlimit {
        option: "nofile",
        flag: 'n',
        unit: 1,
        hard,
        prefer_below: nr_open,
        most: MOST_OPEN,
    })
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}
