//! What the things that benchmarks are made of need of the system.
//!
//! The sizes in memory are rounded up from what `switchcost` measures, user and kernel together,
//! so that a run which passes the check does not meet the OOM killer. They decide about nothing
//! else.

use crate::args::{Stack, Stacks};
use crate::limits::{Demand, Need};

/// A link that has carried a byte: two open files, an inode, and a page of buffer.
const MEMORY_PER_LINK: u64 = 8 * 1024;

/// Stacks of the runtime's worker threads.
const WORKER_STACK: u64 = 2 << 20;

impl Demand {
    /// Nothing but a part for each task.
    const fn each(per_task: Need) -> Self {
        Demand {
            fixed: Need::NONE,
            per_task,
        }
    }

    /// N + 1 links between N tasks, and the descriptors for reading /proc and for epoll.
    pub fn links() -> Self {
        let link = Need {
            descriptors: 2,
            memory: MEMORY_PER_LINK,
            ..Need::NONE
        };
        Demand {
            fixed: Need {
                descriptors: link.descriptors + 8,
                ..link
            },
            per_task: link,
        }
    }

    /// N threads on such stacks.
    pub fn threads(stack: Stack) -> Self {
        let size = stack.bytes_each();
        // The allocator's arenas are bounded, and few beside the threads: room for all of them.
        match stack.stacks {
            Stacks::Std => Demand::std_threads(size, u64::MAX),
            Stacks::Unguarded | Stacks::Arena => Demand::unguarded_threads(size, u64::MAX),
        }
    }

    /// A runtime's worker threads, whatever the number of tasks.
    pub fn workers(count: u64) -> Self {
        Demand {
            fixed: Need::std_thread(WORKER_STACK).times(count) + Need::malloc_arenas(count),
            per_task: Need::NONE,
        }
    }

    /// N async tasks that read from one link and write to another.
    pub fn io_tasks() -> Self {
        Demand::each(Need {
            memory: 2048,
            ..Need::NONE
        })
    }

    /// Numbers in flight over channels: in a channel, and among those that came out.
    pub fn tokens(count: u32) -> Self {
        let bytes = u64::from(count) * 24;
        Demand {
            fixed: Need {
                memory: bytes,
                address_space: bytes,
                ..Need::NONE
            },
            per_task: Need::NONE,
        }
    }

    /// N + 1 links in memory between N threads: the largest is a bounded channel of std, with
    /// what its waiting ends put into it.
    pub fn memory_links() -> Self {
        let link = Need {
            memory: 1024,
            address_space: 1024,
            ..Need::NONE
        };
        Demand {
            fixed: link,
            per_task: link,
        }
    }

    /// N async tasks, each with a channel.
    pub fn channel_tasks() -> Self {
        Demand::each(Need {
            memory: 2048,
            ..Need::NONE
        })
    }

    /// N async tasks that hold nothing.
    pub fn bare_tasks() -> Self {
        Demand::each(Need {
            memory: 512,
            ..Need::NONE
        })
    }
}
