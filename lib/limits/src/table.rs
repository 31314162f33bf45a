//! The limits, one a row: where each is read, how much of it is in use, and what raises it.

use crate::cgroup::ControlGroups;
use crate::rights::Rights;
use crate::source::{Source, rlimit, word_after};
use crate::status::{Asker, LimitState, LimitStatus, RaiseMethod, Resource};

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
const COMMITMENT: &str = "CommitLimit (vm.overcommit_memory is 2)";

/// A number that was read, or why it was not.
type Found = Result<u64, String>;

/// A limit of the system or of the process.
struct Row {
    name: &'static str,
    resource: Resource,
    place: Place,
    /// Amount in use; `None` if it does not matter.
    in_use: fn(&System) -> Result<Option<u64>, String>,
    /// Rights with which a process may pass it.
    passed: fn(&Rights) -> bool,
}

/// Place of a limit, which says what raises it.
#[derive(Clone, Copy)]
enum Place {
    /// A kernel parameter, which takes at most so much.
    Sysctl(u64),
    /// A line of the process's limits; option of prlimit(1), letter of the shell's ulimit and its unit.
    Rlimit(&'static str, &'static str, char, u64),
    /// A line of meminfo, and what helps.
    Meminfo(&'static str, &'static str),
}

/// In the order in which to raise them.
const ROWS: [Row; 10] = [
    // A hard limit above it is refused even to root (do_prlimit, kernel/sys.c).
    Row::new("fs.nr_open", Resource::Descriptors, Place::Sysctl(MOST_OPEN), System::descriptors),
    // Programs raise the soft limit to it by themselves.
    Row::new(
        "open files, hard (ulimit -Hn)",
        Resource::Descriptors,
        Place::Rlimit("Max open files", "nofile", 'n', 1),
        System::descriptors,
    ),
    Row::new(
        "fs.file-max",
        Resource::Descriptors,
        Place::Sysctl(i64::MAX as u64),
        System::allocated_files,
    )
    .passed_by(|rights| rights.passes_file_max),
    Row::new(
        "user processes (ulimit -u)",
        Resource::Threads,
        Place::Rlimit("Max processes", "nproc", 'u', 1),
        System::user_threads,
    )
    .passed_by(|rights| rights.passes_nproc),
    Row::new(
        "kernel.threads-max",
        Resource::Threads,
        Place::Sysctl(MOST_THREADS),
        System::all_threads,
    ),
    Row::new("kernel.pid_max", Resource::Threads, Place::Sysctl(MOST_PIDS), System::thread_numbers),
    Row::new("vm.max_map_count", Resource::Maps, Place::Sysctl(i32::MAX as u64), System::maps),
    // Swap is left out: what is swapped out is not being measured.
    Row::new(
        "MemAvailable",
        Resource::Memory,
        Place::Meminfo(
            "MemAvailable:",
            "free some memory, or use a larger machine (swap is not counted)",
        ),
        |_| Ok(None),
    ),
    Row::new(
        "virtual memory (ulimit -v)",
        Resource::AddressSpace,
        Place::Rlimit("Max address space", "as", 'v', 1024),
        System::mapped,
    ),
    Row::new(
        COMMITMENT,
        Resource::AddressSpace,
        Place::Meminfo(
            "CommitLimit:",
            "`sysctl -w vm.overcommit_memory=0`, as root, grants memory that is only reserved",
        ),
        System::committed,
    ),
];

/// Limits of control groups: controller, version if only one has it, resource, limit, amount in use.
///
/// A fork that would pass `pids.max` fails with EAGAIN (kernel/cgroup/pids.c). Past `memory.high` nothing fails, but
/// every task is slowed down to the speed of reclaim.
const CONTROLS: [(&str, Option<u8>, Resource, &str, &str); 4] = [
    ("pids", None, Resource::Threads, "pids.max", "pids.current"),
    ("memory", Some(1), Resource::Memory, "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ("memory", Some(2), Resource::Memory, "memory.max", "memory.current"),
    ("memory", Some(2), Resource::Memory, "memory.high", "memory.current"),
];

/// Every limit, those of control groups last.
pub(super) fn read(
    source: &Source,
    asker: Asker,
    rights: &Rights,
    groups: &ControlGroups,
) -> Vec<LimitStatus> {
    let system = System { source: source.clone(), asker };
    // In its other modes the kernel has no such limit.
    let is_strict = source.number("/proc/sys/vm/overcommit_memory") == Ok(2);
    let rows = ROWS.iter().filter(|row| row.name != COMMITMENT || is_strict);
    let mut statuses: Vec<LimitStatus> = rows.map(|row| system.status(row, rights)).collect();
    for (controller, version, resource, max, current) in CONTROLS {
        match groups.of(source, controller) {
            Ok(found) if version.is_none_or(|version| version == found.version) => {
                let folders = found.folders.iter();
                statuses
                    .extend(folders.filter_map(|f| in_group(source, f, resource, max, current)));
            }
            Ok(_) => {}
            // One line for each controller.
            Err(why) if version != Some(2) => {
                let name = format!("control group, {controller}");
                let amounts = (Err(why), Ok(None));
                let raise = RaiseMethod::Nothing("it is out of sight");
                statuses.push(LimitStatus::new(
                    name,
                    "/proc/self/cgroup",
                    resource,
                    amounts,
                    raise,
                ));
            }
            Err(_) => {}
        }
    }
    statuses
}

/// A limit of one control group; `None` if it sets none.
fn in_group(
    source: &Source,
    folder: &str,
    resource: Resource,
    max: &str,
    current: &str,
) -> Option<LimitStatus> {
    let file = format!("{folder}/{max}");
    // The root of a hierarchy has no such file.
    if !source.exists(&file) || source.text(&file).as_deref() == Some("max") {
        return None;
    }
    // Page cache that the kernel drops before it refuses memory. In version 1 `inactive_file` is the group's own, and
    // usage counts its children too.
    let reclaimable = source.text(&format!("{folder}/memory.stat")).and_then(|stat| {
        let total = word_after::<u64>(&stat, "total_inactive_file ");
        total.or_else(|| word_after(&stat, "inactive_file ")).filter(|_| resource.is_bytes())
    });
    let in_use = source.number::<u64>(&format!("{folder}/{current}"));
    let in_use = in_use.map(|bytes| Some(bytes.saturating_sub(reclaimable.unwrap_or(0))));
    let amounts = (source.number(&file), in_use);
    let status = LimitStatus::new(max.to_owned(), &file, resource, amounts, RaiseMethod::Group);
    (status.state != LimitState::Free).then_some(status)
}

impl Row {
    const fn new(
        name: &'static str,
        resource: Resource,
        place: Place,
        in_use: fn(&System) -> Result<Option<u64>, String>,
    ) -> Row {
        Row { name, resource, place, in_use, passed: |_| false }
    }

    const fn passed_by(self, passed: fn(&Rights) -> bool) -> Row {
        Row { passed, ..self }
    }
}

/// Files of the system, and who asks.
struct System {
    source: Source,
    asker: Asker,
}

impl System {
    fn status(&self, row: &Row, rights: &Rights) -> LimitStatus {
        let (file, value, raise) = match row.place {
            Place::Sysctl(most) => {
                let file = format!("/proc/sys/{}", row.name.replace('.', "/"));
                let value = self.source.number(&file);
                (file, value, RaiseMethod::Sysctl { key: row.name, most })
            }
            Place::Rlimit(line, option, flag, unit) => {
                let limits = self.rlimit(line);
                let hard = limits.as_ref().map_or(0, |(_, hard)| *hard);
                let is_hard = option == "nofile" && self.asker == Asker::Child;
                let value = limits.map(|(soft, hard)| if is_hard { hard } else { soft });
                (RLIMITS.to_owned(), value, RaiseMethod::Rlimit { option, flag, unit, hard })
            }
            Place::Meminfo(line, advice) => {
                (MEMINFO.to_owned(), self.meminfo(line), RaiseMethod::Nothing(advice))
            }
        };
        let is_passed = (row.passed)(rights) && value.is_ok();
        let in_use = if is_passed { Ok(None) } else { (row.in_use)(self) };
        let amounts = (value, in_use);
        let status = LimitStatus::new(row.name.to_owned(), &file, row.resource, amounts, raise);
        if is_passed { status.passed() } else { status }
    }

    /// Soft and hard value of a line of the process's limits.
    fn rlimit(&self, line: &str) -> Result<(u64, u64), String> {
        rlimit(&self.source.read(RLIMITS)?, line)
            .ok_or_else(|| format!("{RLIMITS} has no line '{line}'"))
    }

    /// Bytes of a line of meminfo.
    fn meminfo(&self, line: &str) -> Found {
        let kib = word_after::<u64>(&self.source.read(MEMINFO)?, line);
        kib.map(|kib| kib.saturating_mul(1024))
            .ok_or_else(|| format!("{MEMINFO} has no amount '{line}'"))
    }

    fn descriptors(&self) -> Result<Option<u64>, String> {
        if self.asker == Asker::Child {
            return Ok(Some(STANDARD_STREAMS));
        }
        // The folder itself is open while it is read.
        Ok(Some((self.source.names("/proc/self/fd").len() as u64).saturating_sub(1)))
    }

    /// Files that the whole system has open.
    fn allocated_files(&self) -> Result<Option<u64>, String> {
        let file = "/proc/sys/fs/file-nr";
        let allocated = word_after(&self.source.read(file)?, "");
        allocated.map(Some).ok_or_else(|| format!("{file} holds no number"))
    }

    /// Threads of every process of this user. Those in other pid namespaces count too, but do not
    /// show.
    fn user_threads(&self) -> Result<Option<u64>, String> {
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
        Ok(Some(sum))
    }

    /// Threads of the whole system, the kernel's own included: the second number of the fourth field.
    fn all_threads(&self) -> Result<Option<u64>, String> {
        let file = "/proc/loadavg";
        let text = self.source.read(file)?;
        let threads = text.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
        threads
            .and_then(|(_, all)| Some(Some(all.parse().ok()?)))
            .ok_or_else(|| format!("{file} has no count of threads"))
    }

    fn thread_numbers(&self) -> Result<Option<u64>, String> {
        Ok(self.all_threads()?.map(|all| all.saturating_add(RESERVED_PIDS)))
    }

    /// Memory maps of this process: a program that is started has about as many.
    fn maps(&self) -> Result<Option<u64>, String> {
        Ok(Some(self.source.read("/proc/self/maps")?.lines().count() as u64))
    }

    /// Bytes that this process has mapped, which a program that is started has not.
    fn mapped(&self) -> Result<Option<u64>, String> {
        if self.asker == Asker::Child {
            return Ok(None);
        }
        let kib = word_after::<u64>(&self.source.read("/proc/self/status")?, "VmSize:");
        Ok(kib.map(|kib| kib.saturating_mul(1024)))
    }

    /// Bytes that are granted, and those that the kernel keeps for root and for the user (__vm_enough_memory,
    /// mm/util.c).
    fn committed(&self) -> Result<Option<u64>, String> {
        let kept = |name| {
            let kib = self.source.number::<u64>(&format!("/proc/sys/vm/{name}"));
            kib.unwrap_or(0).saturating_mul(1024)
        };
        let kept = kept("admin_reserve_kbytes").saturating_add(kept("user_reserve_kbytes"));
        Ok(Some(self.meminfo("Committed_AS:")?.saturating_add(kept)))
    }
}
