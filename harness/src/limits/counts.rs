//! The limits of what is counted: descriptors, threads and memory maps.

use std::fs;

use super::Resource;
use super::finding::{Finding, Found};
use super::limit::{Limit, MOST_PIDS, Raise, Rlimit};
use super::system::{CAP_SYS_ADMIN, CAP_SYS_RESOURCE, System, field, first_number, rlimit};

/// The largest fs.nr_open: `INT_MAX` rounded down to whole words of bits
/// (`sysctl_nr_open_max`, fs/file_table.c).
const MOST_OPEN: u64 = 2_147_483_584;

/// Once thread numbers have wrapped, those below 300 are not given out again
/// (`RESERVED_PIDS`, kernel/pid.c).
const RESERVED_PIDS: u64 = 300;

const RLIMITS: &str = "/proc/self/limits";

/// The descriptor, thread and map limits, in this order.
pub(super) fn findings(system: &System) -> Vec<Finding> {
    let rlimits = system.text(RLIMITS);
    [
        system.descriptors(&rlimits),
        system.threads(&rlimits),
        vec![system.maps()],
    ]
    .concat()
}

/// A line of the process's limits.
fn of_process(rlimits: &Result<String, String>, line: &str) -> Result<(u64, u64), String> {
    let missing = || format!("{RLIMITS} has no line '{line}'");
    rlimit(rlimits.as_ref()?, line).ok_or_else(missing)
}

impl System {
    /// fs.nr_open comes before the process's own limit, which it bounds: a
    /// hard limit above it is refused even to root (do_prlimit, kernel/sys.c).
    fn descriptors(&self, rlimits: &Result<String, String>) -> Vec<Finding> {
        // One more than are open: the directory itself is, while it is read.
        let open = match fs::read_dir(self.below_root("/proc/self/fd")) {
            Ok(entries) => Ok(entries.flatten().count() as u64),
            Err(e) => Err(format!("cannot read /proc/self/fd: {e}")),
        };
        let descriptors = Resource::Descriptors;
        let nr_open = self.sysctl("fs.nr_open", MOST_OPEN, descriptors, open.clone());
        let own = of_process(rlimits, "Max open files");
        let soft = match &own {
            Ok((soft, _)) => Finding::free(
                "open files, soft (ulimit -Sn)",
                RLIMITS,
                descriptors,
                Some(*soft).filter(|soft| *soft != u64::MAX),
                "the programs raise it to the hard limit by themselves",
            ),
            Err(why) => {
                Finding::unknown("open files, soft (ulimit -Sn)", RLIMITS, descriptors, why)
            }
        };
        let hard = own.map(|(_, hard)| hard);
        let raise = open_files(
            hard.as_ref().copied().unwrap_or(0),
            nr_open.value.unwrap_or(u64::MAX),
            self.is_root(),
        );
        let name = "open files (hard limit, ulimit -Hn)";
        let hard = match hard {
            Ok(u64::MAX) => Finding::free(name, RLIMITS, descriptors, None, "unlimited"),
            hard => self.finding(name, RLIMITS, descriptors, (hard, open), raise),
        };
        vec![soft, nr_open, hard, self.file_max()]
    }

    /// CAP_SYS_ADMIN goes above it (alloc_empty_file, fs/file_table.c).
    fn file_max(&self) -> Finding {
        let allocated = self.text("/proc/sys/fs/file-nr").and_then(|text| {
            let first = first_number(&text);
            first.ok_or_else(|| "/proc/sys/fs/file-nr holds no number".to_owned())
        });
        let found = self.sysctl("fs.file-max", i64::MAX as u64, Resource::Files, allocated);
        let free = |value, why| {
            let (name, source) = (&found.name, &found.source);
            Finding::free(name, source, found.resource, value, why)
        };
        match found.value {
            Some(value) if value >= i64::MAX as u64 => free(None, "as high as it goes"),
            value @ Some(_) if self.can(CAP_SYS_ADMIN) => free(value, "CAP_SYS_ADMIN may pass it"),
            _ => found,
        }
    }

    fn threads(&self, rlimits: &Result<String, String>) -> Vec<Finding> {
        // The fourth field is runnable/all, the kernel's own threads included.
        let all = self.text("/proc/loadavg").and_then(|text| {
            let all = text.split_whitespace().nth(3).and_then(|field| {
                let (_, all) = field.split_once('/')?;
                all.parse::<u64>().ok()
            });
            all.ok_or_else(|| "/proc/loadavg has no count of threads".to_owned())
        });
        // Kernel fact: the sysctl takes up to FUTEX_TID_MASK (kernel/fork.c).
        const MOST_THREADS: u64 = 0x3fff_ffff;
        let threads = Resource::Threads;
        let numbers = all.clone().map(|all| all.saturating_add(RESERVED_PIDS));
        vec![
            self.processes_of_user(rlimits),
            self.sysctl("kernel.threads-max", MOST_THREADS, threads, all),
            self.sysctl("kernel.pid_max", MOST_PIDS, threads, numbers),
        ]
    }

    fn processes_of_user(&self, rlimits: &Result<String, String>) -> Finding {
        let name = "user processes (ulimit -u)";
        let threads = Resource::Threads;
        let (soft, hard) = match of_process(rlimits, "Max processes") {
            Ok((u64::MAX, _)) => {
                return Finding::free(name, RLIMITS, threads, None, "unlimited");
            }
            Ok((soft, _)) if self.may_pass_nproc() => {
                let why = "root, CAP_SYS_RESOURCE and CAP_SYS_ADMIN may pass it";
                return Finding::free(name, RLIMITS, threads, Some(soft), why);
            }
            Ok(both) => both,
            Err(why) => return Finding::unknown(name, RLIMITS, threads, why),
        };
        let raise = Raise::Rlimit(Rlimit {
            option: "nproc",
            is_root: self.is_root(),
            flag: 'u',
            unit: 1,
            hard,
            prefer_below: u64::MAX,
            most: MOST_PIDS,
        });
        let amounts = (Ok(soft), self.threads_of_user());
        self.finding(name, RLIMITS, threads, amounts, raise)
    }

    /// Kernel fact (copy_process, kernel/fork.c): RLIMIT_NPROC does not bind
    /// the system's own root, nor who holds one of these two capabilities.
    fn may_pass_nproc(&self) -> bool {
        let root = self.first_namespace && self.real_uid == Some(0);
        root || self.can(CAP_SYS_RESOURCE) || self.can(CAP_SYS_ADMIN)
    }

    /// Threads of every process of our real user, as far as they can be seen:
    /// those in other pid namespaces count too, but do not show.
    fn threads_of_user(&self) -> Found {
        let unknown_user = || "/proc/self/status does not tell the user".to_owned();
        let real_uid = self.real_uid.ok_or_else(unknown_user)?;
        let processes = fs::read_dir(self.below_root("/proc"));
        let processes = processes.map_err(|e| format!("cannot read /proc: {e}"))?;
        let mut threads = 0u64;
        for entry in processes.flatten() {
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
        Ok(threads)
    }

    fn maps(&self) -> Finding {
        let maps = self.text("/proc/self/maps");
        let in_use = maps.map(|maps| maps.lines().count() as u64);
        let most = i32::MAX as u64;
        self.sysctl("vm.max_map_count", most, Resource::Maps, in_use)
    }
}

/// The descriptor limit of a process that has none left, which can read no
/// file: what is in use is then the soft limit itself.
pub(super) fn descriptor_limit(soft: u64, hard: u64) -> Limit {
    let is_root = nix::unistd::geteuid().is_root();
    Limit {
        name: "open files (ulimit -n)".to_owned(),
        source: "getrlimit(2)".to_owned(),
        resource: Resource::Descriptors,
        value: soft,
        in_use: soft,
        raise: open_files(hard, u64::MAX, is_root),
        note: Some("if refused: raise fs.nr_open first; CAP_SYS_RESOURCE is needed"),
        as_root: is_root,
        hidden: false,
    }
}

fn open_files(hard: u64, nr_open: u64, is_root: bool) -> Raise {
    Raise::Rlimit(Rlimit {
        option: "nofile",
        is_root,
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
