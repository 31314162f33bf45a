//! Memory of processes and of the kernel, as a record has it.

use serde::{Deserialize, Serialize};

/// Memory of some processes together, and the kernel's memory of the whole system, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Resident set; of several processes with shared pages divided by their users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resident: Option<u64>,
    /// Resident anonymous memory: heap and stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anonymous: Option<u64>,
    /// Transparent huge pages in the anonymous memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge: Option<u64>,
    /// Pages that used pipes keep. No counter of the kernel shows them outside of a control group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipe_pages: Option<u64>,
    /// Largest resident set so far (VmHWM).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_resident: Option<u64>,
    /// Largest address space so far (VmPeak).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_virtual: Option<u64>,
    /// Kernel stacks of the whole system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_kernel_stacks: Option<u64>,
    /// Page tables of the whole system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_page_tables: Option<u64>,
    /// Slab memory of the whole system that cannot be reclaimed (SUnreclaim).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_slab: Option<u64>,
}

impl Memory {
    /// Kernel memory that follows the number of tasks, in bytes. Subtract a snapshot taken before.
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
    /// Before anything was built: the system's alone.
    pub before: Memory,
    /// With every task alive and at rest. If a plan asked for no such rest, the peak alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Memory>,
}
