//! Memory of processes, and of the kernel.

use serde::{Deserialize, Serialize};

/// Memory of some processes, and the kernel's memory of the whole system, in bytes.
///
/// Of several processes each figure is the sum, with shared pages divided by their users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Resident set; of several processes the same as `pss`.
    pub resident: Option<u64>,
    /// Resident set, with shared pages divided by their users.
    pub pss: Option<u64>,
    /// Resident anonymous memory: heap and stacks.
    pub anonymous: Option<u64>,
    /// Transparent huge pages in the anonymous memory.
    pub huge: Option<u64>,
    /// Page tables of the processes (VmPTE).
    pub page_tables: Option<u64>,
    /// Pages that used pipes keep. No counter of the kernel shows them outside of a control group.
    pub pipe_pages: Option<u64>,
    /// Largest resident set so far (VmHWM).
    pub peak_resident: Option<u64>,
    /// Kernel stacks of the whole system.
    pub system_kernel_stacks: Option<u64>,
    /// Page tables of the whole system.
    pub system_page_tables: Option<u64>,
    /// Slab memory of the whole system that cannot be reclaimed (SUnreclaim).
    pub system_slab: Option<u64>,
}

impl Memory {
    /// Kernel memory that follows the number of tasks, in bytes: kernel stacks, page tables and slab
    /// of the whole system, and the pages of the processes' pipes where these are known.
    ///
    /// Subtract a snapshot taken before; the difference can be negative where others freed memory.
    pub fn kernel(&self) -> Option<f64> {
        let system = [
            self.system_kernel_stacks?,
            self.system_page_tables?,
            self.system_slab?,
            self.pipe_pages.unwrap_or(0),
        ];
        Some(system.iter().map(|&part| part as f64).sum())
    }
}

/// Memory at two points of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryChange {
    /// Before anything was built; of a program that is looked at from outside, the system's alone.
    pub before: Memory,
    /// With every task alive and at rest; its peak is that of the iterations before. Where a plan asked for
    /// no such rest, the peak alone.
    pub held: Option<Memory>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_memory_is_unknown_where_a_part_is() {
        let mut memory = Memory {
            system_kernel_stacks: Some(16),
            system_page_tables: Some(4),
            ..Memory::default()
        };
        assert_eq!(memory.kernel(), None);
        memory.system_slab = Some(100);
        assert_eq!(memory.kernel(), Some(120.0));
        memory.pipe_pages = Some(8);
        assert_eq!(memory.kernel(), Some(128.0));
    }
}
