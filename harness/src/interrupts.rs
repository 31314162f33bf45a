//! The interrupts by which one CPU calls another, from /proc/interrupts.

use std::fs::File;
use std::io::{BufRead, BufReader};

use serde::{Deserialize, Serialize};

/// Interrupts sent between CPUs, of the whole system and all its CPUs. Null where the kernel does
/// not tell, as one for a single CPU.
///
/// A wake-up of a thread on an idle CPU is one of them: `RES` where the scheduler asks for it
/// directly, `CAL` where it queues the wake-up on that CPU (`ttwu_queue_wakelist` in the kernel's
/// kernel/sched/core.c). The lines are told by their description, since their names differ: `RES`
/// and `CAL` on x86, `IPI0` and `IPI1` on arm64 and RISC-V, `IPI2` and `IPI3` on 32-bit Arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupts {
    /// "Rescheduling interrupts": a CPU is to look for another thread to run.
    pub rescheduling: Option<u64>,
    /// "Function call interrupts": a CPU is to call a function, of which a queued wake-up is one.
    pub function_call: Option<u64>,
}

impl Interrupts {
    /// Reads the totals so far.
    pub fn now() -> Self {
        File::open("/proc/interrupts").map_or_else(
            |_| Interrupts::default(),
            |file| Interrupts::read(BufReader::new(file)),
        )
    }

    /// Line by line: on a machine with many CPUs the file is large.
    fn read(mut file: impl BufRead) -> Self {
        let mut found = Interrupts::default();
        let mut line = String::new();
        while file.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if line.trim_end().ends_with("Rescheduling interrupts") {
                found.rescheduling = sum(&line);
            } else if line.trim_end().ends_with("Function call interrupts") {
                found.function_call = sum(&line);
            }
            line.clear();
        }
        found
    }

    /// What was added since `before`. Unknown where a total fell: a CPU went offline, or a counter
    /// of 32 bits began again.
    pub fn since(self, before: Interrupts) -> Interrupts {
        let difference = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        Interrupts {
            rescheduling: difference(self.rescheduling, before.rescheduling),
            function_call: difference(self.function_call, before.function_call),
        }
    }

    /// Both together: the wake-ups that crossed CPUs, and what else CPUs asked of each other.
    pub fn wakeups(self) -> Option<u64> {
        match (self.rescheduling, self.function_call) {
            (Some(a), Some(b)) => a.checked_add(b),
            (one, other) => one.or(other),
        }
    }
}

/// The numbers between a line's name and its description, added up.
fn sum(line: &str) -> Option<u64> {
    let (_, counts) = line.split_once(':')?;
    let counts = counts
        .split_whitespace()
        .map_while(|word| word.parse().ok());
    let mut counts = counts.peekable();
    counts.peek()?;
    counts.try_fold(0, u64::checked_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "\
           CPU0       CPU1
  8:          0          7  IO-APIC   8-edge      rtc0
 31:          0        200  PCI-MSIX-0000:00:01.0   3-edge      virtio0-stats
NMI:         11         12  Non-maskable interrupts
LOC:      75871      85433  Local timer interrupts
RES:      41572      36206  Rescheduling interrupts
CAL:     145879     128572  Function call interrupts
TLB:      29244      27863  TLB shootdowns
ERR:          0
MIS:          0
";

    const ARM64: &str = "\
           CPU0       CPU1       CPU2       CPU3
 11:      20152      17934      18123      19000     GICv3  27 Level     arch_timer
 13:          0          0          0          0     GICv3  23 Level     arm-pmu
IPI0:       100        200        300        400       Rescheduling interrupts
IPI1:         1          2          3          4       Function call interrupts
IPI2:         9          9          9          9       CPU stop interrupts
IPI3:         0          0          0          0       CPU stop NMIs
IPI4:         0          0          0          0       Timer broadcast interrupts
IPI5:         6          6          6          6       IRQ work interrupts
Err:          0
";

    fn read(text: &str) -> Interrupts {
        Interrupts::read(text.as_bytes())
    }

    #[test]
    fn the_names_of_x86_are_known() {
        let interrupts = read(X86);
        assert_eq!(interrupts.rescheduling, Some(41572 + 36206));
        assert_eq!(interrupts.function_call, Some(145879 + 128572));
        assert_eq!(interrupts.wakeups(), Some(77778 + 274451));
    }

    #[test]
    fn the_names_of_arm64_are_known() {
        let interrupts = read(ARM64);
        assert_eq!(interrupts.rescheduling, Some(1000));
        assert_eq!(interrupts.function_call, Some(10));
    }

    #[test]
    fn what_is_not_told_is_unknown_and_not_zero() {
        for text in [
            "",
            "           CPU0\n  8:          0  IO-APIC   8-edge      rtc0\n",
            "RES: Rescheduling interrupts",
            "Rescheduling interrupts",
            "CAL: x 3 Function call interrupts\n",
            "RES: 18446744073709551615 1 Rescheduling interrupts",
        ] {
            assert_eq!(read(text), Interrupts::default(), "{text}");
        }
        assert_eq!(Interrupts::default().wakeups(), None);
        let one = read("IPI0: 1 2 Rescheduling interrupts");
        assert_eq!(one.wakeups(), Some(3));
    }

    #[test]
    fn a_total_that_fell_has_no_difference() {
        let at = |rescheduling| Interrupts {
            rescheduling: Some(rescheduling),
            function_call: None,
        };
        assert_eq!(at(7).since(at(5)).rescheduling, Some(2));
        assert_eq!(at(5).since(at(7)), Interrupts::default());
        assert_eq!(Interrupts::default().since(at(1)), Interrupts::default());
    }
}
