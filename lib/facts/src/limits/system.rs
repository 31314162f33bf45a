//! Limits of the system and of its processes.

use super::remedy::{MOST_PIDS, Means, Rlimit};
use super::status::Found;
use super::{LimitStatus, Resource};
use crate::cgroup::sysctl_is_read_only;
use crate::source::{Source, rlimit, word_after};

/// Numbers of capabilities(7).
const CAP_SYS_ADMIN: u32 = 21;
pub(super) const CAP_SYS_RESOURCE: u32 = 24;

/// Largest fs.nr_open: INT_MAX rounded down to whole words of bits (`sysctl_nr_open_max`,
/// fs/file_table.c).
const MOST_OPEN: u64 = 2_147_483_584;

/// Largest kernel.threads-max: FUTEX_TID_MASK (kernel/fork.c).
const MOST_THREADS: u64 = 0x3fff_ffff;

/// Thread numbers below it are not given out again once they have wrapped (kernel/pid.c).
const RESERVED_PIDS: u64 = 300;

/// Standard input, output and error of a program that is started.
const STANDARD_STREAMS: u64 = 3;

const RLIMITS: &str = "/proc/self/limits";
const MEMINFO: &str = "/proc/meminfo";
const STATUS: &str = "/proc/self/status";
const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

/// Files of the system, and the facts about this process that decide which limits bind.
pub(super) struct System<'a> {
    source: &'a Source,
    real_uid: Option<u64>,
    effective_uid: Option<u64>,
    /// Effective capabilities; `None` where they are unknown. Those of a user namespace do not count for the limits here.
    pub(super) effective: Option<u64>,
    /// Capabilities that no process started here can go beyond.
    bounding: u64,
    /// User 0 is the system's root.
    pub(super) first_namespace: bool,
    pub(super) sysctl_is_read_only: bool,
    rlimits: Result<String, String>,
    meminfo: Result<String, String>,
}

impl<'a> System<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        let status = source.read(STATUS).unwrap_or_default();
        // Real, effective, saved, file system.
        let uids: String = status
            .lines()
            .find_map(|line| line.strip_prefix("Uid:"))
            .unwrap_or_default()
            .to_owned();
        let mut uids = uids.split_whitespace().map(|uid| uid.parse().ok());
        let capabilities =
            |name| u64::from_str_radix(&word_after::<String>(&status, name)?, 16).ok();
        // Without the file the kernel has no user namespaces.
        let first_namespace = source
            .read("/proc/self/uid_map")
            .map_or(true, |map| map.split_whitespace().eq(["0", "0", "4294967295"]));
        let in_first = |set: Option<u64>| if first_namespace { set } else { Some(0) };
        System {
            source,
            real_uid: uids.next().flatten(),
            effective_uid: uids.next().flatten(),
            effective: in_first(capabilities("CapEff:")),
            bounding: in_first(capabilities("CapBnd:")).unwrap_or(u64::MAX),
            first_namespace,
            sysctl_is_read_only: sysctl_is_read_only(source),
            rlimits: source.read(RLIMITS),
            meminfo: source.read(MEMINFO),
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.effective_uid == Some(0)
    }

    pub(super) fn can(&self, capability: u32) -> bool {
        self.effective.unwrap_or(0) >> capability & 1 == 1
    }

    pub(super) fn is_withheld(&self, capability: u32) -> bool {
        self.bounding >> capability & 1 == 0
    }

    /// All limits but those of control groups, in the order in which to raise them.
    pub(super) fn statuses(&self) -> Vec<LimitStatus> {
        vec![
            self.soft_descriptors(),
            // A hard limit above it is refused even to root (do_prlimit, kernel/sys.c).
            self.sysctl("fs.nr_open", MOST_OPEN, Resource::Descriptors, Ok(STANDARD_STREAMS)),
            self.hard_descriptors(),
            self.file_max(),
            self.user_processes(),
            self.sysctl("kernel.threads-max", MOST_THREADS, Resource::Threads, self.all_threads()),
            self.pid_max(),
            self.maps(),
            self.pipe_pages(
                "fs.pipe-user-pages-soft",
                "a pipe takes 16 pages; past the limit new pipes get 2 pages and nothing fails",
            ),
            self.pipe_pages(
                "fs.pipe-user-pages-hard",
                "a pipe takes 16 pages, or 2 past the soft limit",
            ),
            self.available_memory(),
            self.address_space(),
            self.overcommit(),
        ]
    }

    /// A line of the process's limits: soft and hard.
    fn rlimit(&self, line: &str) -> Result<(u64, u64), String> {
        let missing = || format!("{RLIMITS} has no line '{line}'");
        rlimit(self.rlimits.as_ref()?, line).ok_or_else(missing)
    }

    /// A limit of the process.
    fn of_process(
        &self,
        name: &str,
        resource: Resource,
        (value, in_use): (Found, Result<Option<u64>, String>),
        limit: Rlimit,
    ) -> LimitStatus {
        if value == Ok(u64::MAX) {
            return LimitStatus::free(name, RLIMITS, resource, None, "unlimited");
        }
        let withheld = "CAP_SYS_RESOURCE is withheld from this system: raise it where this \
                        container, service or machine is started";
        let refusal = self.is_withheld(CAP_SYS_RESOURCE).then_some(withheld);
        LimitStatus::new(name, RLIMITS, resource, (value, in_use), Means::Rlimit(limit))
            .refused(refusal)
    }

    /// A kernel parameter.
    fn sysctl(
        &self,
        key: &'static str,
        most: u64,
        resource: Resource,
        in_use: Found,
    ) -> LimitStatus {
        let file = sysctl_file(key);
        let amounts = (self.source.number(&file), in_use.map(Some));
        LimitStatus::new(key, &file, resource, amounts, Means::Sysctl { key, most })
            .refused(self.sysctl_refusal())
    }

    fn sysctl_refusal(&self) -> Option<&'static str> {
        let why = "/proc/sys is mounted read-only: run it on the host of this container";
        self.sysctl_is_read_only.then_some(why)
    }

    fn soft_descriptors(&self) -> LimitStatus {
        let name = "open files, soft (ulimit -Sn)";
        let descriptors = Resource::Descriptors;
        match self.rlimit("Max open files") {
            Ok((soft, _)) => {
                let soft = Some(soft).filter(|soft| *soft != u64::MAX);
                let why = "programs raise it to the hard limit by themselves";
                LimitStatus::free(name, RLIMITS, descriptors, soft, why)
            }
            Err(why) => LimitStatus::unknown(name, RLIMITS, descriptors, why),
        }
    }

    fn hard_descriptors(&self) -> LimitStatus {
        let hard = self.rlimit("Max open files").map(|(_, hard)| hard);
        let nr_open = self.source.number(&sysctl_file("fs.nr_open"));
        let limit = Rlimit {
            option: "nofile",
            flag: 'n',
            unit: 1,
            hard: hard.clone().unwrap_or(0),
            prefer_below: nr_open.unwrap_or(u64::MAX),
            most: MOST_OPEN,
        };
        let amounts = (hard, Ok(Some(STANDARD_STREAMS)));
        let name = "open files, hard (ulimit -Hn)";
        self.of_process(name, Resource::Descriptors, amounts, limit)
    }

    /// CAP_SYS_ADMIN goes above it (alloc_empty_file, fs/file_table.c).
    fn file_max(&self) -> LimitStatus {
        let file = "/proc/sys/fs/file-nr";
        let allocated = self.source.read(file).and_then(|text| {
            let first = text.split_whitespace().next().map(str::parse);
            first.and_then(Result::ok).ok_or_else(|| format!("{file} holds no number"))
        });
        let most = i64::MAX as u64;
        let status = self.sysctl("fs.file-max", most, Resource::Descriptors, allocated);
        match self.can(CAP_SYS_ADMIN) {
            true => status.passed("CAP_SYS_ADMIN may pass it"),
            false if status.value >= Some(most) => status.passed("as high as it goes"),
            false => status,
        }
    }

    /// RLIMIT_NPROC does not bind the system's own root, nor who has one of two capabilities
    /// (copy_process, kernel/fork.c).
    fn user_processes(&self) -> LimitStatus {
        let limits = self.rlimit("Max processes");
        let limit = Rlimit {
            option: "nproc",
            flag: 'u',
            unit: 1,
            hard: limits.as_ref().map_or(0, |(_, hard)| *hard),
            prefer_below: u64::MAX,
            most: MOST_PIDS,
        };
        let amounts = (limits.map(|(soft, _)| soft), self.user_threads().map(Some));
        let name = "user processes (ulimit -u)";
        let status = self.of_process(name, Resource::Threads, amounts, limit);
        let is_root = self.first_namespace && self.real_uid == Some(0);
        match is_root || self.can(CAP_SYS_RESOURCE) || self.can(CAP_SYS_ADMIN) {
            true => status.passed("root, CAP_SYS_RESOURCE and CAP_SYS_ADMIN may pass it"),
            false => status,
        }
    }

    /// Threads of every process of the real user. Those in other pid namespaces count too, but do not
    /// show.
    fn user_threads(&self) -> Found {
        let uid = self.real_uid.ok_or_else(|| format!("{STATUS} does not tell the user"))?;
        let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        let processes = self.source.names("/proc").into_iter().filter(is_number);
        // A process may end while the list is read.
        let statuses = processes.filter_map(|pid| self.source.text(&format!("/proc/{pid}/status")));
        let own = statuses.filter(|status| word_after(status, "Uid:") == Some(uid));
        Ok(own.fold(0, |sum: u64, status| {
            sum.saturating_add(word_after(&status, "Threads:").unwrap_or(1))
        }))
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

    fn pid_max(&self) -> LimitStatus {
        let in_use = self.all_threads().map(|all| all.saturating_add(RESERVED_PIDS));
        self.sysctl("kernel.pid_max", MOST_PIDS, Resource::Threads, in_use)
    }

    /// A program that is started has about as many maps as this one.
    fn maps(&self) -> LimitStatus {
        let maps = self.source.read("/proc/self/maps");
        let in_use = maps.map(|maps| maps.lines().count() as u64);
        self.sysctl("vm.max_map_count", i32::MAX as u64, Resource::Maps, in_use)
    }

    /// The kernel does not show how many pages the user's pipes have. 0 is no limit
    /// (alloc_pipe_info, fs/pipe.c).
    fn pipe_pages(&self, key: &'static str, remark: &str) -> LimitStatus {
        let file = sysctl_file(key);
        let pages = Resource::PipePages;
        let value = self.source.number(&file);
        if value == Ok(0) {
            return LimitStatus::free(key, &file, pages, None, "0: none is set");
        }
        let most = u64::from(u32::MAX);
        let status =
            LimitStatus::new(key, &file, pages, (value, Ok(None)), Means::Sysctl { key, most });
        match self.can(CAP_SYS_RESOURCE) || self.can(CAP_SYS_ADMIN) {
            true => status.passed("CAP_SYS_RESOURCE and CAP_SYS_ADMIN may pass it"),
            false => status.remarked(remark),
        }
    }

    /// Bytes of a line of meminfo.
    fn meminfo(&self, line: &str) -> Found {
        let kib = word_after::<u64>(self.meminfo.as_ref()?, line);
        kib.map(|kib| kib.saturating_mul(1024))
            .ok_or_else(|| format!("{MEMINFO} has no amount '{line}'"))
    }

    /// Swap is left out: what is swapped out is not being measured.
    fn available_memory(&self) -> LimitStatus {
        let means =
            Means::Nothing("free some memory, or use a larger machine (swap is not counted)");
        let amounts = (self.meminfo("MemAvailable:"), Ok(None));
        LimitStatus::new("MemAvailable", MEMINFO, Resource::Memory, amounts, means)
    }

    fn address_space(&self) -> LimitStatus {
        let limits = self.rlimit("Max address space");
        let limit = Rlimit {
            option: "as",
            flag: 'v',
            unit: 1024,
            hard: limits.as_ref().map_or(0, |(_, hard)| *hard),
            prefer_below: u64::MAX,
            most: i64::MAX as u64,
        };
        let amounts = (limits.map(|(soft, _)| soft), Ok(None));
        let name = "virtual memory (ulimit -v)";
        self.of_process(name, Resource::AddressSpace, amounts, limit)
    }

    /// With vm.overcommit_memory at 2 the kernel refuses all that could not be backed, less what it
    /// keeps for root and for the user (__vm_enough_memory, mm/util.c).
    fn overcommit(&self) -> LimitStatus {
        let space = Resource::AddressSpace;
        match self.source.number(OVERCOMMIT) {
            Ok(2) => {
                let reserve = |name| {
                    let kib = self.source.number::<u64>(&format!("/proc/sys/vm/{name}"));
                    kib.unwrap_or(0).saturating_mul(1024)
                };
                let value = self.meminfo("CommitLimit:").map(|limit| {
                    limit
                        .saturating_sub(reserve("admin_reserve_kbytes"))
                        .saturating_sub(reserve("user_reserve_kbytes"))
                });
                let means = Means::Switch { key: "vm.overcommit_memory", value: "0" };
                let amounts = (value, self.meminfo("Committed_AS:").map(Some));
                let name = "CommitLimit (vm.overcommit_memory is 2)";
                LimitStatus::new(name, MEMINFO, space, amounts, means)
                    .refused(self.sysctl_refusal())
            }
            Ok(mode) => {
                let why = match mode {
                    0 => "0: the kernel refuses only a single map that exceeds memory and swap",
                    _ => "1: the kernel grants any amount",
                };
                LimitStatus::free("vm.overcommit_memory", OVERCOMMIT, space, None, why)
            }
            Err(why) => LimitStatus::unknown("vm.overcommit_memory", OVERCOMMIT, space, why),
        }
    }
}

/// File of a kernel parameter.
pub(super) fn sysctl_file(key: &str) -> String {
    format!("/proc/sys/{}", key.replace('.', "/"))
}
