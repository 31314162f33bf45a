//! Activity of the rest of the system.

use serde::{Deserialize, Serialize};

/// Totals of the system since it booted, or what was added to them in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interference {
    /// Time that the hypervisor gave to others, summed over all CPUs, in ns; counted in ticks.
    pub steal: Option<u64>,
    /// Idle time summed over all CPUs, in ns; counted in ticks.
    pub idle: Option<u64>,
    /// Time for which a CPU quota stopped the runner's control group, in ns.
    pub throttled: Option<u64>,
    /// Rescheduling interrupts of the whole system (RES on x86).
    pub rescheduling: Option<u64>,
    /// Function call interrupts of the whole system (CAL on x86).
    pub function_calls: Option<u64>,
    /// Time in which some task of the system waited for a CPU, in ns.
    pub cpu_pressure: Option<u64>,
    /// Time in which some task of the system waited for memory, in ns.
    pub memory_pressure: Option<u64>,
    /// Time in which some task of the system waited for a disk, in ns.
    pub io_pressure: Option<u64>,
}

impl Interference {
    /// Growth of each total since `before`. A total that fell has none: a CPU went offline, or a
    /// counter wrapped.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let difference = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        Interference {
            steal: difference(self.steal, before.steal),
            idle: difference(self.idle, before.idle),
            throttled: difference(self.throttled, before.throttled),
            rescheduling: difference(self.rescheduling, before.rescheduling),
            function_calls: difference(self.function_calls, before.function_calls),
            cpu_pressure: difference(self.cpu_pressure, before.cpu_pressure),
            memory_pressure: difference(self.memory_pressure, before.memory_pressure),
            io_pressure: difference(self.io_pressure, before.io_pressure),
        }
    }

    /// Interrupts from one CPU to another. The wake-up of a thread on an idle CPU is one of them,
    /// under either name.
    pub fn wakeup_interrupts(&self) -> Option<u64> {
        match (self.rescheduling, self.function_calls) {
            (Some(one), Some(other)) => one.checked_add(other),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_that_fell_has_no_difference() {
        let at = |rescheduling| Interference {
            rescheduling: Some(rescheduling),
            ..Interference::default()
        };
        assert_eq!(at(7).since(at(5)).rescheduling, Some(2));
        assert_eq!(at(5).since(at(7)), Interference::default());
        assert_eq!(Interference::default().since(at(1)), Interference::default());
    }

    #[test]
    fn either_kind_of_interrupt_may_be_unknown() {
        let mut total = Interference::default();
        assert_eq!(total.wakeup_interrupts(), None);
        total.function_calls = Some(3);
        assert_eq!(total.wakeup_interrupts(), Some(3));
        total.rescheduling = Some(4);
        assert_eq!(total.wakeup_interrupts(), Some(7));
    }
}
