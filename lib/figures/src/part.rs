//! Parts of a figure.

use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Serialize};

/// What a size is made of, or what the kernel counted for each hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The process's own resident memory.
    User,
    /// The kernel's memory, from the whole system's counters.
    Kernel,
    /// Both.
    Together,
    /// Of the kernel's: its stacks.
    Stacks,
    #[serde(rename = "page tables")]
    PageTables,
    /// Of the kernel's: objects that cannot be reclaimed.
    Slab,
    #[serde(rename = "pipe pages")]
    PipePages,
    /// Time on a CPU.
    Cpu,
    /// Switches, voluntary or not.
    Switches,
    /// Interrupts between CPUs.
    Wakeups,
    /// Hops for each wait of an event loop.
    #[serde(rename = "hops per wait")]
    HopsPerWait,
}

impl Part {
    /// The part of this name, such as `page tables`.
    pub fn named(name: &str) -> Option<Self> {
        let name: StrDeserializer<'_, Error> = name.into_deserializer();
        Part::deserialize(name).ok()
    }
}
