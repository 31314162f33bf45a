//! Limits of the system and of its processes.

use super::remedy::{RaiseMethod, Rlimit};
use super::rights::{CapabilityState, Rights};
use super::status::{Found, LimitStatus, Resource};
use crate::source::{Source, rlimit, word_after};

/// Largest fs.nr_open: INT_MAX rounded down to whole words of bits (`sysctl_nr_open_max`,
/// fs/file_table.c).
const MOST_OPEN: u64 = 2_147_483_584;

/// Largest kernel.threads-max: FUTEX_TID_MASK (kernel/fork.c).
const MOST_THREADS: u64 = 0x3fff_ffff;

/// Largest thread number of a 64-bit Linux (PID_MAX_LIMIT, include/linux/threads.h).
const MOST_PIDS: u64 = 4_194_304;

/// Thread numbers below it are not given out again once they have wrapped (kernel/pid.c).
const RESERVED_PIDS: u64 = 300;

/// Standard input, output and error of a program that is started.
const STANDARD_STREAMS: u64 = 3;

const RLIMITS: &str = "/proc/self/limits";
const MEMINFO: &str = "/proc/meminfo";

/// Files of the system, and the rights that decide which limits bind.
pub(super) struct System<'a> {
    source: &'a Source,
    rights: &'a Rights,
    rlimits: Result<String, String>,
    meminfo: Result<String, String>,
}

impl<'a> System<'a> {
    pub(super) fn read(source: &'a Source, rights: &'a Rights) -> Self {
        System { source, rights, rlimits: source.read(RLIMITS), meminfo: source.read(MEMINFO) }
    }

    /// All limits but those of control groups, in the order in which to raise them.
    pub(super) fn statuses(&self) -> Vec<LimitStatus> {
        let threads = self.all_threads();
        let pids = threads.clone().map(|all| all.saturating_add(RESERVED_PIDS));
        // A program that is started has about as many maps as this one.
        let maps = self.source.read("/proc/self/maps").map(|maps| maps.lines().count() as u64);
        let mut statuses = vec![
            // A hard limit above it is refused even to root (do_prlimit, kernel/sys.c).
            self.sysctl("fs.nr_open", MOST_OPEN, Resource::Descriptors, Ok(STANDARD_STREAMS)),
            self.descriptors(),
            self.file_max(),
            self.user_processes(),
            self.sysctl("kernel.threads-max", MOST_THREADS, Resource::Threads, threads),
            self.sysctl("kernel.pid_max", MOST_PIDS, Resource::Threads, pids),
            self.sysctl("vm.max_map_count", i32::MAX as u64, Resource::Maps, maps),
            self.available_memory(),
            self.address_space(),
        ];
        statuses.extend(self.commitment());
        statuses
    }

    /// Soft and hard value of a line of the process's limits.
    fn rlimit(&self, line: &str) -> Result<(u64, u64), String> {
        rlimit(self.rlimits.as_ref()?, line)
            .ok_or_else(|| format!("{RLIMITS} has no line '{line}'"))
    }

    /// A limit of the process.
    fn of_process(
        &self,
        name: &str,
        resource: Resource,
        amounts: (Found, Result<Option<u64>, String>),
        limit: Rlimit,
    ) -> LimitStatus {
        let withheld = "CAP_SYS_RESOURCE is withheld from this system: raise it where this \
                        container, service or machine is started";
        let is_withheld = self.rights.sys_resource == CapabilityState::Withheld;
        LimitStatus::new(name, RLIMITS, resource, amounts, RaiseMethod::Rlimit(limit))
            .refused(is_withheld.then_some(withheld))
    }

    /// A kernel parameter.
    fn sysctl(
        &self,
        key: &'static str,
        most: u64,
        resource: Resource,
        in_use: Found,
    ) -> LimitStatus {
        let file = format!("/proc/sys/{}", key.replace('.', "/"));
        let amounts = (self.source.number(&file), in_use.map(Some));
        let read_only = "/proc/sys is mounted read-only: run it on the host of this container";
        LimitStatus::new(key, &file, resource, amounts, RaiseMethod::Sysctl { key, most })
            .refused((!self.rights.sysctls_writable).then_some(read_only))
    }

    /// The hard limit: programs raise the soft one to it by themselves.
    fn descriptors(&self) -> LimitStatus {
        let hard = self.rlimit("Max open files").map(|(_, hard)| hard);
        let limit = Rlimit {
            option: "nofile",
            flag: 'n',
            unit: 1,
            hard: hard.clone().unwrap_or(0),
            most: self.source.number("/proc/sys/fs/nr_open").unwrap_or(u64::MAX),
        };
        let amounts = (hard, Ok(Some(STANDARD_STREAMS)));
        self.of_process("open files, hard (ulimit -Hn)", Resource::Descriptors, amounts, limit)
    }

    fn file_max(&self) -> LimitStatus {
        let file = "/proc/sys/fs/file-nr";
        let allocated = self.source.read(file).and_then(|text| {
            word_after(&text, "").ok_or_else(|| format!("{file} holds no number"))
        });
        let most = i64::MAX as u64;
        let status = self.sysctl("fs.file-max", most, Resource::Descriptors, allocated);
        if self.rights.passes_file_max {
            status.passed("CAP_SYS_ADMIN may pass it")
        } else {
            status
        }
    }

    fn user_processes(&self) -> LimitStatus {
        let limits = self.rlimit("Max processes");
        let hard = limits.as_ref().map_or(0, |(_, hard)| *hard);
        let limit = Rlimit { option: "nproc", flag: 'u', unit: 1, hard, most: MOST_PIDS };
        let amounts = (limits.map(|(soft, _)| soft), self.user_threads().map(Some));
        let name = "user processes (ulimit -u)";
        let status = self.of_process(name, Resource::Threads, amounts, limit);
        if self.rights.passes_nproc {
            status.passed("root, CAP_SYS_RESOURCE and CAP_SYS_ADMIN may pass it")
        } else {
            status
        }
    }

    /// Threads of every process of this user. Those in other pid namespaces count too, but do not
    /// show.
    fn user_threads(&self) -> Found {
        let own = "/proc/self/status";
        let uid: u64 = word_after(&self.source.read(own)?, "Uid:")
            .ok_or_else(|| format!("{own} does not tell the user"))?;
        let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        let mut sum = 0_u64;
        for process in self.source.names("/proc").into_iter().filter(is_number) {
            // A process may end while the list is read.
            let status = self.source.text(&format!("/proc/{process}/status")).unwrap_or_default();
            if word_after(&status, "Uid:") == Some(uid) {
                sum = sum.saturating_add(word_after(&status, "Threads:").unwrap_or(1));
            }
        }
        Ok(sum)
    }

    /// Threads of the whole system, the kernel's own included: the second number of the fourth field.
    fn all_threads(&self) -> Found {
        let file = "/proc/loadavg";
        let text = self.source.read(file)?;
        let field = text.split_whitespace().nth(3);
        field
            .and_then(|field| field.split_once('/')?.1.parse().ok())
            .ok_or_else(|| format!("{file} has no count of threads"))
    }

    /// Bytes of a line of meminfo.
    fn meminfo(&self, line: &str) -> Found {
        let kib = word_after::<u64>(self.meminfo.as_ref()?, line);
        kib.map(|kib| kib.saturating_mul(1024))
            .ok_or_else(|| format!("{MEMINFO} has no amount '{line}'"))
    }

    /// Swap is left out: what is swapped out is not being measured.
    fn available_memory(&self) -> LimitStatus {
        let advice = "free some memory, or use a larger machine (swap is not counted)";
        let amounts = (self.meminfo("MemAvailable:"), Ok(None));
        let method = RaiseMethod::Nothing(advice);
        LimitStatus::new("MemAvailable", MEMINFO, Resource::Memory, amounts, method)
    }

    fn address_space(&self) -> LimitStatus {
        let limits = self.rlimit("Max address space");
        let hard = limits.as_ref().map_or(0, |(_, hard)| *hard);
        let limit = Rlimit { option: "as", flag: 'v', unit: 1024, hard, most: u64::MAX };
        let amounts = (limits.map(|(soft, _)| soft), Ok(None));
        self.of_process("virtual memory (ulimit -v)", Resource::AddressSpace, amounts, limit)
    }

    /// With vm.overcommit_memory at 2 the kernel refuses all that could not be backed, less what it
    /// keeps for root and for the user (__vm_enough_memory, mm/util.c); otherwise there is no limit.
    fn commitment(&self) -> Option<LimitStatus> {
        let mode = self.source.number::<u64>("/proc/sys/vm/overcommit_memory");
        if mode.as_ref().is_ok_and(|mode| *mode != 2) {
            return None;
        }
        let kept = |name| {
            let kib = self.source.number::<u64>(&format!("/proc/sys/vm/{name}"));
            kib.unwrap_or(0).saturating_mul(1024)
        };
        let limit = mode.and_then(|_| self.meminfo("CommitLimit:")).map(|limit| {
            let left = limit.saturating_sub(kept("admin_reserve_kbytes"));
            left.saturating_sub(kept("user_reserve_kbytes"))
        });
        let amounts = (limit, self.meminfo("Committed_AS:").map(Some));
        let name = "CommitLimit (vm.overcommit_memory is 2)";
        let advice =
            "`sysctl -w vm.overcommit_memory=0`, as root, grants memory that is only reserved";
        let method = RaiseMethod::Nothing(advice);
        Some(LimitStatus::new(name, MEMINFO, Resource::AddressSpace, amounts, method))
    }
}
