//! Every limit: where it is read, how much of it is in use, and what raises it.

use crate::limit::{LimitStatus, NO_LIMIT, RaiseMethod, Resource};
use crate::rights::Rights;
use host::cgroup::ControlGroups;
use host::source::{Source, word_after};

/// Largest fs.nr_open: INT_MAX rounded down to whole words (`sysctl_nr_open_max`, fs/file_table.c).
const MOST_OPEN: u64 = 2_147_483_584;

/// Largest kernel.threads-max: FUTEX_TID_MASK (kernel/fork.c).
const MOST_THREADS: u64 = 0x3fff_ffff;

/// Largest thread number of a 64-bit Linux (PID_MAX_LIMIT, include/linux/threads.h).
const MOST_PIDS: u64 = 4_194_304;

/// Thread numbers below it are not given out again once they have wrapped (kernel/pid.c).
const RESERVED_PIDS: u64 = 300;

/// Standard input, output and error of a program that is started.
const STANDARD_STREAMS: u64 = 3;

/// Flag of a descriptor that a program does not inherit (`O_CLOEXEC`), as fdinfo shows it.
const CLOSED_BY_EXEC: u64 = 0o2_000_000;

const RLIMITS: &str = "/proc/self/limits";
const MEMINFO: &str = "/proc/meminfo";

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

/// Reads all limits, in the order to raise them.
pub(crate) fn read(source: &Source, rights: &Rights, groups: &ControlGroups) -> Vec<LimitStatus> {
    use Resource::{AddressSpace, Descriptors, Maps, Memory, Threads};
    let mut limits = vec![
        // A hard limit above it is refused even to root (do_prlimit, kernel/sys.c).
        sysctl(source, "fs.nr_open", Descriptors, MOST_OPEN, descriptors(source)),
        rlimit(
            source,
            ("open files, hard (ulimit -Hn)", "Max open files", "nofile", 'n', 1),
            Descriptors,
            descriptors(source),
        ),
        sysctl(
            source,
            "fs.file-max",
            Descriptors,
            i64::MAX as u64,
            allocated_files(source, rights),
        )
        .passed_if(rights.passes_file_max),
        rlimit(
            source,
            ("user processes (ulimit -u)", "Max processes", "nproc", 'u', 1),
            Threads,
            user_threads(source, rights),
        )
        .passed_if(rights.passes_nproc),
        sysctl(source, "kernel.threads-max", Threads, MOST_THREADS, all_threads(source, 0)),
        sysctl(source, "kernel.pid_max", Threads, MOST_PIDS, all_threads(source, RESERVED_PIDS)),
        sysctl(source, "vm.max_map_count", Maps, i32::MAX as u64, maps(source)),
        // Swap is left out: what is swapped out is not being measured.
        LimitStatus::new(
            "MemAvailable",
            MEMINFO,
            Memory,
            (meminfo(source, "MemAvailable:"), Ok(None)),
            RaiseMethod::Nothing("free some memory, or use a larger machine (swap is not counted)"),
        ),
        rlimit(
            source,
            ("virtual memory (ulimit -v)", "Max address space", "as", 'v', 1024),
            AddressSpace,
            Ok(None),
        ),
    ];
    // In its other modes the kernel has no such limit.
    if source.number("/proc/sys/vm/overcommit_memory") == Ok(2) {
        limits.push(LimitStatus::new(
            "CommitLimit (vm.overcommit_memory is 2)",
            MEMINFO,
            AddressSpace,
            (meminfo(source, "CommitLimit:"), committed(source)),
            RaiseMethod::Nothing(
                "`sysctl -w vm.overcommit_memory=0`, as root, lets programs reserve more memory than there is",
            ),
        ));
    }
    for (controller, version, resource, max, current) in CONTROLS {
        match groups.groups(source, controller) {
            Ok(groups) if version.is_none_or(|version| version == groups.version) => {
                let folders = groups.folders.iter();
                limits.extend(folders.filter_map(|f| in_group(source, f, resource, max, current)));
            }
            // One line for each controller.
            Err(why) if version != Some(2) => limits.push(LimitStatus::new(
                &format!("control group, {controller}"),
                "/proc/self/cgroup",
                resource,
                (Err(why), Ok(None)),
                RaiseMethod::Nothing("its file cannot be seen from here"),
            )),
            Ok(_) | Err(_) => {}
        }
    }
    limits
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
    let stat = source.text(&format!("{folder}/memory.stat")).filter(|_| resource.is_bytes());
    let reclaimable = stat.and_then(|stat| {
        let total = word_after::<u64>(&stat, "total_inactive_file ");
        total.or_else(|| word_after(&stat, "inactive_file "))
    });
    let in_use = source.number::<u64>(&format!("{folder}/{current}"));
    let in_use = in_use.map(|bytes| Some(bytes.saturating_sub(reclaimable.unwrap_or(0))));
    let value = source.number(&file);
    let is_set = !matches!(value, Ok(NO_LIMIT..));
    is_set.then(|| LimitStatus::new(max, &file, resource, (value, in_use), RaiseMethod::Group))
}

/// A kernel parameter, which takes at most `ceiling`.
fn sysctl(
    source: &Source,
    name: &str,
    resource: Resource,
    ceiling: u64,
    in_use: Result<Option<u64>, String>,
) -> LimitStatus {
    let file = format!("/proc/sys/{}", name.replace('.', "/"));
    let amounts = (source.number(&file), in_use);
    LimitStatus::new(name, &file, resource, amounts, RaiseMethod::Sysctl(ceiling))
}

/// A limit of the process: name, line in the kernel's list, option of prlimit(1), letter of ulimit and unit.
fn rlimit(
    source: &Source,
    (name, line, option, flag, unit): (&str, &str, &'static str, char, u64),
    resource: Resource,
    in_use: Result<Option<u64>, String>,
) -> LimitStatus {
    let limits = source.read(RLIMITS).and_then(|text| {
        soft_and_hard(&text, line).ok_or_else(|| format!("{RLIMITS} has no line '{line}'"))
    });
    let hard = limits.as_ref().map_or(0, |(_, hard)| *hard);
    // Programs raise the soft limit of descriptors to the hard one.
    let is_hard = resource == Resource::Descriptors;
    let value = limits.map(|(soft, hard)| if is_hard { hard } else { soft });
    let raise = RaiseMethod::Rlimit { option, flag, unit, hard };
    LimitStatus::new(name, RLIMITS, resource, (value, in_use), raise)
}

/// Bytes of a line of meminfo.
fn meminfo(source: &Source, line: &str) -> Result<u64, String> {
    let kib = word_after::<u64>(&source.read(MEMINFO)?, line);
    kib.map(|kib| kib.saturating_mul(1024))
        .ok_or_else(|| format!("{MEMINFO} has no amount '{line}'"))
}

/// Descriptors that a program begins with.
fn descriptors(source: &Source) -> Result<Option<u64>, String> {
    let names = source.names("/proc/self/fdinfo");
    let inherited = names.iter().filter(|name| is_inherited(source, name)).count() as u64;
    Ok(Some(STANDARD_STREAMS + inherited))
}

/// True of a descriptor that a program takes over beside the standard streams.
fn is_inherited(source: &Source, name: &str) -> bool {
    let info = source.text(&format!("/proc/self/fdinfo/{name}"));
    let flags = info.and_then(|info| word_after::<String>(&info, "flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(&flags, 8).ok());
    name.parse::<u64>().is_ok_and(|number| number >= STANDARD_STREAMS)
        && flags.is_some_and(|flags| flags & CLOSED_BY_EXEC == 0)
}

/// Files that the whole system has open.
fn allocated_files(source: &Source, rights: &Rights) -> Result<Option<u64>, String> {
    if rights.passes_file_max {
        return Ok(None);
    }
    let file = "/proc/sys/fs/file-nr";
    let allocated = word_after(&source.read(file)?, "");
    allocated.map(Some).ok_or_else(|| format!("{file} holds no number"))
}

/// Threads of every process of this user. Those in other pid namespaces count too, but do not show.
fn user_threads(source: &Source, rights: &Rights) -> Result<Option<u64>, String> {
    if rights.passes_nproc {
        return Ok(None);
    }
    let status = "/proc/self/status";
    let uid: u64 = word_after(&source.read(status)?, "Uid:")
        .ok_or_else(|| format!("{status} does not name the user"))?;
    let mut sum = 0_u64;
    for process in source.names("/proc") {
        if !process.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // A process may end while the list is read.
        let status = source.text(&format!("/proc/{process}/status")).unwrap_or_default();
        if word_after(&status, "Uid:") == Some(uid) {
            sum = sum.saturating_add(word_after(&status, "Threads:").unwrap_or(1));
        }
    }
    Ok(Some(sum))
}

/// Threads of the whole system, and numbers that no thread gets.
fn all_threads(source: &Source, reserved: u64) -> Result<Option<u64>, String> {
    let file = "/proc/loadavg";
    let text = source.read(file)?;
    let threads = text.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
    let threads = threads.and_then(|(_, existing)| existing.parse::<u64>().ok());
    let threads = threads.ok_or_else(|| format!("{file} has no number of threads"))?;
    Ok(Some(threads.saturating_add(reserved)))
}

/// Memory maps of this process: a program that is started has about as many.
fn maps(source: &Source) -> Result<Option<u64>, String> {
    Ok(Some(source.read("/proc/self/maps")?.lines().count() as u64))
}

/// Bytes that are granted, and those that the kernel keeps for root and for the user (__vm_enough_memory,
/// mm/util.c).
fn committed(source: &Source) -> Result<Option<u64>, String> {
    let mut committed: u64 = meminfo(source, "Committed_AS:")?;
    for name in ["admin_reserve_kbytes", "user_reserve_kbytes"] {
        let kib = source.number::<u64>(&format!("/proc/sys/vm/{name}")).unwrap_or(0);
        committed = committed.saturating_add(kib.saturating_mul(1024));
    }
    Ok(Some(committed))
}

/// Soft and hard value of a line of `/proc/self/limits`; unlimited is [`u64::MAX`], as in the kernel.
fn soft_and_hard(limits: &str, name: &str) -> Option<(u64, u64)> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    let mut values = line.split_whitespace().map(|value| match value {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    });
    Some((values.next()??, values.next()??))
}
