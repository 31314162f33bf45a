//! The limits of what is measured in bytes: memory and address space.

use super::Resource;
use super::limit::{Limit, Raise, Rlimit};
use super::system::{System, field, rlimit};

/// The memory and address space limits but those of cgroups, in this order.
pub(super) fn limits(system: &System) -> Vec<Limit> {
    let meminfo = system.read("/proc/meminfo").unwrap_or_default();
    system
        .available_memory(&meminfo)
        .into_iter()
        .chain(system.address_space())
        .chain(system.commitment(&meminfo))
        .collect()
}

impl System {
    /// Swap is left out: what is swapped out is not being measured.
    fn available_memory(&self, meminfo: &str) -> Option<Limit> {
        let available = kibibytes(meminfo, "MemAvailable:")?;
        let raise = Raise::Never("free some memory, or use a larger machine (swap is not counted)");
        Some(self.limit(
            "MemAvailable",
            "/proc/meminfo",
            Resource::Memory,
            (available, 0),
            raise,
        ))
    }

    fn address_space(&self) -> Vec<Limit> {
        let rlimits = self.read("/proc/self/limits").unwrap_or_default();
        let status = self.read("/proc/self/status").unwrap_or_default();
        let maps = self.read("/proc/self/maps").unwrap_or_default();
        let rlimit = |name, line, option, flag, in_use| {
            let (soft, hard) = rlimit(&rlimits, line).filter(|(soft, _)| *soft != u64::MAX)?;
            let raise = Raise::Rlimit(Rlimit {
                option,
                flag,
                unit: 1 << 10,
                hard,
                prefer_below: u64::MAX,
                most: i64::MAX as u64,
            });
            let amounts = (soft, kibibytes(&status, in_use)?);
            let source = "/proc/self/limits";
            Some(self.limit(name, source, Resource::AddressSpace, amounts, raise))
        };
        let whole = rlimit(
            "virtual memory (ulimit -v)",
            "Max address space",
            "as",
            'v',
            "VmSize:",
        );
        // Since Linux 4.7 private writable maps count, and stacks of threads
        // with them (is_data_mapping, mm/internal.h).
        let data = rlimit(
            "data segment (ulimit -d)",
            "Max data size",
            "data",
            'd',
            "VmData:",
        );
        let layout = user_space(&maps).zip(kibibytes(&status, "VmSize:"));
        let layout = layout.map(|amounts| {
            self.limit(
                "user address space",
                "/proc/self/maps",
                Resource::AddressSpace,
                amounts,
                Raise::Never("the processor's page tables end there; use smaller stacks"),
            )
        });
        [whole, data, layout].into_iter().flatten().collect()
    }

    /// With vm.overcommit_memory at 2 the kernel grants no more virtual memory
    /// than it could back, less what it keeps for root and for the user
    /// (__vm_enough_memory, mm/util.c).
    fn commitment(&self, meminfo: &str) -> Option<Limit> {
        if self.number("/proc/sys/vm/overcommit_memory")? != 2 {
            return None;
        }
        let reserve = |name| {
            let kibibytes = self.number(&format!("/proc/sys/vm/{name}"));
            kibibytes.unwrap_or(0).saturating_mul(1 << 10)
        };
        let value = kibibytes(meminfo, "CommitLimit:")?
            .saturating_sub(reserve("admin_reserve_kbytes"))
            .saturating_sub(reserve("user_reserve_kbytes"));
        Some(self.limit(
            "CommitLimit (vm.overcommit_memory is 2)",
            "/proc/meminfo",
            Resource::AddressSpace,
            (value, kibibytes(meminfo, "Committed_AS:")?),
            Raise::Switch("vm.overcommit_memory=0"),
        ))
    }
}

/// The size of the address space that a program gets: the kernel puts the
/// first stack at its very end, less a random offset far below a half of it.
/// The kernel's configuration decides it on some processors (39 or 48 bits on
/// arm64), so it is measured; on x86-64 it comes out as 47 bits, which
/// `TASK_SIZE_MAX` is but for a page (arch/x86/include/asm/page_64.h).
fn user_space(maps: &str) -> Option<u64> {
    let stack = maps.lines().find(|line| line.ends_with("[stack]"))?;
    let (_, end) = stack.split_whitespace().next()?.split_once('-')?;
    u64::from_str_radix(end, 16)
        .ok()?
        .checked_next_power_of_two()
}

/// The bytes of a line that gives them in kB, by which /proc means KiB.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let value = field(text, name)?.strip_suffix("kB")?.trim();
    Some(value.parse::<u64>().ok()?.saturating_mul(1 << 10))
}
