//! The limits of what is measured in bytes: memory and address space.

use super::Resource;
use super::finding::{Finding, Found};
use super::limit::{Raise, Rlimit};
use super::system::{System, field, rlimit};

const MEMINFO: &str = "/proc/meminfo";
const RLIMITS: &str = "/proc/self/limits";
const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

/// The memory and address space limits but those of cgroups, in this order.
pub(super) fn findings(system: &System) -> Vec<Finding> {
    let meminfo = system.text(MEMINFO);
    let mut findings = vec![system.available_memory(&meminfo)];
    findings.extend(system.address_space());
    findings.push(system.overcommit(&meminfo));
    findings
}

impl System {
    /// Swap is left out: what is swapped out is not being measured.
    fn available_memory(&self, meminfo: &Result<String, String>) -> Finding {
        let available = kibibytes(meminfo, MEMINFO, "MemAvailable:");
        let raise = Raise::Never("free some memory, or use a larger machine (swap is not counted)");
        let amounts = (available, Ok(0));
        self.finding("MemAvailable", MEMINFO, Resource::Memory, amounts, raise)
    }

    fn address_space(&self) -> Vec<Finding> {
        let rlimits = self.text(RLIMITS);
        let status = self.text("/proc/self/status");
        let in_use = |line| kibibytes(&status, "/proc/self/status", line);
        let space = Resource::AddressSpace;
        let of_process = |name, line: &str, option, flag, in_use: Found| {
            let missing = || format!("{RLIMITS} has no line '{line}'");
            let both = rlimits.as_ref().map_err(Clone::clone);
            let both = both.and_then(|text| rlimit(text, line).ok_or_else(missing));
            let (soft, hard) = match both {
                Ok((u64::MAX, _)) => {
                    return Finding::free(name, RLIMITS, space, None, "unlimited");
                }
                Ok(both) => both,
                Err(why) => return Finding::unknown(name, RLIMITS, space, why),
            };
            let raise = Raise::Rlimit(Rlimit {
                option,
                is_root: self.is_root(),
                flag,
                unit: 1 << 10,
                hard,
                prefer_below: u64::MAX,
                most: i64::MAX as u64,
            });
            self.finding(name, RLIMITS, space, (Ok(soft), in_use), raise)
        };
        let whole = of_process(
            "virtual memory (ulimit -v)",
            "Max address space",
            "as",
            'v',
            in_use("VmSize:"),
        );
        // Since Linux 4.7 private writable maps count, and stacks of threads
        // with them (is_data_mapping, mm/internal.h).
        let data = of_process(
            "data segment (ulimit -d)",
            "Max data size",
            "data",
            'd',
            in_use("VmData:"),
        );
        let maps = self.text("/proc/self/maps");
        let no_stack = || "/proc/self/maps has no stack to measure it by".to_owned();
        let end = maps.and_then(|maps| user_space(&maps).ok_or_else(no_stack));
        let layout = self.finding(
            "user address space",
            "/proc/self/maps",
            space,
            (end, in_use("VmSize:")),
            Raise::Never("the processor's page tables end there; use smaller stacks"),
        );
        vec![whole, data, layout]
    }

    /// What the kernel grants before anything is touched (`__vm_enough_memory`, mm/util.c).
    ///
    /// With vm.overcommit_memory at 0 it refuses only a single map that is larger than the
    /// memory and the swap of the whole machine; at 2 all that could not be backed, less what it
    /// keeps for root and for the user.
    fn overcommit(&self, meminfo: &Result<String, String>) -> Finding {
        let amount = |line| kibibytes(meminfo, MEMINFO, line);
        match self.number(OVERCOMMIT) {
            Ok(0) => {
                let all = amount("MemTotal:")
                    .and_then(|memory| Ok(memory.saturating_add(amount("SwapTotal:")?)));
                self.finding(
                    "a single map (vm.overcommit_memory is 0)",
                    MEMINFO,
                    Resource::LargestMap,
                    (all, Ok(0)),
                    Raise::Switch(("vm.overcommit_memory", "1")),
                )
                .remarked("no single stack may be larger than memory and swap together")
            }
            Ok(2) => {
                let reserve = |name| {
                    let kibibytes = self.number(&format!("/proc/sys/vm/{name}"));
                    kibibytes.unwrap_or(0).saturating_mul(1 << 10)
                };
                let value = amount("CommitLimit:").map(|limit| {
                    limit
                        .saturating_sub(reserve("admin_reserve_kbytes"))
                        .saturating_sub(reserve("user_reserve_kbytes"))
                });
                self.finding(
                    "CommitLimit (vm.overcommit_memory is 2)",
                    MEMINFO,
                    Resource::Commit,
                    (value, amount("Committed_AS:")),
                    Raise::Switch(("vm.overcommit_memory", "0")),
                )
            }
            Ok(mode) => Finding::free(
                "vm.overcommit_memory",
                OVERCOMMIT,
                Resource::Commit,
                None,
                format!("{mode}: the kernel grants any amount"),
            ),
            Err(why) => Finding::unknown("vm.overcommit_memory", OVERCOMMIT, Resource::Commit, why),
        }
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

/// The bytes of a line of a file that gives them in kB, by which /proc means KiB.
fn kibibytes(text: &Result<String, String>, file: &str, name: &str) -> Found {
    let missing = || format!("{file} has no amount '{name}'");
    let value = field(text.as_ref()?, name).and_then(|value| value.strip_suffix("kB"));
    let value: Option<u64> = value.and_then(|value| value.trim().parse().ok());
    Ok(value.ok_or_else(missing)?.saturating_mul(1 << 10))
}
