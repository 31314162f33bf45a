//! What the things that benchmarks are made of need of the system.
//!
//! The sizes in memory are rounded up from what `switchcost` measures, user and kernel together,
//! so that a run which passes the check does not meet the OOM killer. They decide about nothing
//! else.

use crate::args::{Stack, Stacks};
use crate::limits::{Demand, Need, Share};
use crate::links::Local;

/// A link that has carried a byte: two open files, an inode, and a page of buffer.
const MEMORY_PER_LINK: u64 = 8 * 1024;

/// A thread that has ended and was not joined: what it has touched of its stack, with the kernel's
/// memory for the maps and their tables. 8.5 to 9.6 KiB of user memory were seen.
const MEMORY_LEFT_BY_THREAD: u64 = 12 * 1024;

/// A forked process: its kernel stack and structures, its page tables, and the pages of its parent
/// that it has written to.
const MEMORY_PER_PROCESS: u64 = 160 * 1024;

/// What a forked process could write to: the data of the program and its libraries, heap and stack.
const SPACE_PER_PROCESS: u64 = 1 << 20;

/// An eventfd: an open file and a counter, without an inode of its own.
const MEMORY_PER_EVENTFD: u64 = 1024;

/// A connection over loopback that is kept busy: what the kernel queues between its ends, and what is
/// read at once.
const MEMORY_PER_CONNECTION: u64 = 1 << 20;

/// What keeps track of a piece of a body, twice over while a list of them grows, and where a piece comes
/// in two.
const MEMORY_PER_PIECE: u64 = 128;

/// What is read at once from a file.
const BLOCK: u64 = 64 << 10;

/// Stacks of the runtime's worker threads.
const WORKER_STACK: u64 = 2 << 20;

/// How many descriptors a link has.
const fn descriptors(transport: Local) -> u64 {
    match transport {
        Local::Pipe | Local::Socketpair => 2,
        // Both ends are one.
        Local::Eventfd => 1,
    }
}

impl Demand {
    /// Nothing but a part for each task.
    pub(crate) const fn each(per_task: Need) -> Self {
        Demand {
            fixed: Need::NONE,
            per_task,
            shares: Vec::new(),
        }
    }

    /// Nothing but what a flag asks for, however many tasks there are.
    pub(crate) fn always(flag: &'static str, need: Need) -> Self {
        Demand {
            fixed: need,
            per_task: Need::NONE,
            shares: vec![Share { flag, need }],
        }
    }

    /// N + 1 links between N tasks, and the descriptors for reading /proc and for epoll.
    pub fn links(transport: impl Into<Local>) -> Self {
        let transport = transport.into();
        let link = Need {
            descriptors: descriptors(transport),
            memory: match transport {
                Local::Pipe | Local::Socketpair => MEMORY_PER_LINK,
                Local::Eventfd => MEMORY_PER_EVENTFD,
            },
            pipes: u64::from(transport == Local::Pipe),
            ..Need::NONE
        };
        Demand {
            fixed: Need {
                descriptors: link.descriptors + 8,
                ..link
            },
            per_task: link,
            shares: Vec::new(),
        }
    }

    /// Epoll watches `ends` ends of each of the N + 1 links.
    pub fn watched(ends: u64) -> Self {
        let link = Need {
            watches: ends,
            ..Need::NONE
        };
        Demand {
            // The runtime watches a descriptor or two of its own.
            fixed: Need {
                watches: ends + 2,
                ..Need::NONE
            },
            per_task: link,
            shares: Vec::new(),
        }
    }

    /// One pipe, however many tasks there are, and the descriptors for reading /proc.
    pub fn a_pipe() -> Self {
        Demand {
            fixed: Need {
                descriptors: 2 + 8,
                pipes: 1,
                ..Need::NONE
            },
            per_task: Need::NONE,
            shares: Vec::new(),
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

    /// What a thread on such a stack still holds when it has ended, until it is joined: the pages
    /// that it has touched, with their tables, and its maps. All but the memory is taken for that of
    /// a thread which is alive: the kernel gives it back a while after the thread's last instruction.
    pub fn left_by_thread(stack: Stack) -> Need {
        Need {
            memory: MEMORY_LEFT_BY_THREAD,
            ..Demand::threads(stack).per_task
        }
    }

    /// N processes, forked by this one, and the pipe at which they are awaited.
    pub fn processes() -> Self {
        let process = Need {
            threads: 1,
            memory: MEMORY_PER_PROCESS,
            space_elsewhere: SPACE_PER_PROCESS,
            ..Need::NONE
        };
        Demand {
            fixed: Need {
                descriptors: 3,
                pipes: 1,
                ..Need::NONE
            },
            ..Demand::each(process)
        }
    }

    /// The same where each task is a process, a child of this one, and has its part for itself. Each
    /// begins with what this process has, and two of them share what is between them.
    #[must_use]
    pub fn in_children(self) -> Self {
        let handed_over = Need {
            descriptors: self.per_task.descriptors * 2,
            maps: self.per_task.maps,
            address_space: self.per_task.address_space,
            ..Need::NONE
        };
        Demand {
            fixed: self.fixed + handed_over,
            per_task: self.per_task.in_a_child(),
            ..self
        }
    }

    /// The same in a process of its own, forked by this one, with a flag of its own for what flags ask
    /// for. Its descriptors and its address space bound this process no more.
    #[must_use]
    pub fn in_one_child(self, flag: &'static str) -> Self {
        let process = Need {
            threads: 1,
            memory: MEMORY_PER_PROCESS,
            space_elsewhere: SPACE_PER_PROCESS,
            ..Need::NONE
        };
        let shares = self.shares.into_iter().map(|share| Share {
            flag,
            need: share.need.in_a_child(),
        });
        Demand {
            fixed: self.fixed.in_a_child() + process,
            per_task: self.per_task.in_a_child(),
            shares: shares.collect(),
        }
    }

    /// N connections over loopback, `ends` ends of each in this process and the rest in another, and the
    /// socket at which they are awaited.
    pub fn connections(ends: u64) -> Self {
        let connection = Need {
            descriptors: ends,
            watches: ends,
            files_elsewhere: 2 - ends.min(2),
            memory: MEMORY_PER_CONNECTION,
            address_space: MEMORY_PER_CONNECTION,
            ..Need::NONE
        };
        Demand {
            fixed: Need {
                descriptors: 1 + 8,
                watches: 1 + 2,
                ..Need::NONE
            },
            ..Demand::each(connection)
        }
    }

    /// N bodies of `size` bytes, kept in memory as they come in pieces of `piece` bytes. A piece keeps
    /// the buffer that it was read into, a part of which may be another's or nobody's.
    pub fn kept_in_pieces(size: u64, piece: u64) -> Self {
        let pieces = size.div_ceil(piece.max(1));
        let bytes = size
            .saturating_add(size / 2)
            .saturating_add(pieces.saturating_mul(MEMORY_PER_PIECE));
        Demand::asked_by_size(Need {
            memory: bytes,
            address_space: bytes,
            largest_map: pieces.saturating_mul(MEMORY_PER_PIECE),
            ..Need::NONE
        })
    }

    /// N bodies of `size` bytes, each in one buffer.
    pub fn kept_whole(size: u64) -> Self {
        Demand::asked_by_size(Need {
            memory: size,
            address_space: size,
            largest_map: size,
            maps: 1,
            ..Need::NONE
        })
    }

    /// N bodies in files, `mapped` bytes of each of which are mapped, and `in_memory` bytes held there
    /// by the file system itself.
    pub fn kept_in_files(mapped: u64, in_memory: u64) -> Self {
        Demand::asked_by_size(Need {
            descriptors: 1,
            maps: u64::from(mapped > 0),
            memory: in_memory.saturating_add(BLOCK),
            address_space: mapped.saturating_add(BLOCK),
            largest_map: mapped,
            ..Need::NONE
        })
    }

    /// A part for each task that `--size` decides about.
    fn asked_by_size(need: Need) -> Self {
        Demand {
            shares: vec![Share {
                flag: "--size",
                need,
            }],
            ..Demand::each(need)
        }
    }

    /// N of a runtime's worker threads.
    pub fn each_worker() -> Self {
        Demand::each(Need::std_thread(WORKER_STACK))
    }

    /// A runtime's worker threads, whatever the number of tasks.
    pub fn workers(count: u64) -> Self {
        Demand::runtime_threads("--workers", count)
    }

    /// A runtime's threads, its workers and others, whose number a flag decides about, whatever the
    /// number of tasks.
    pub fn runtime_threads(flag: &'static str, count: u64) -> Self {
        let threads = Need::std_thread(WORKER_STACK).times(count) + Need::malloc_arenas(count);
        Demand::always(flag, threads)
    }

    /// So many descriptors, however many tasks there are, and those for reading /proc and for epoll.
    pub fn descriptors(count: u64) -> Self {
        Demand {
            fixed: Need {
                descriptors: count + 8,
                watches: count,
                ..Need::NONE
            },
            ..Demand::each(Need::NONE)
        }
    }

    /// N async tasks that read from one link and write to another, every descriptor of which is
    /// watched by epoll.
    pub fn io_tasks(transport: impl Into<Local>) -> Self {
        let task = Demand::each(Need {
            memory: 2048,
            ..Need::NONE
        });
        task + Demand::watched(descriptors(transport.into()))
    }

    /// Numbers in flight over channels: in a channel, and among those that came out.
    pub fn tokens(count: u32) -> Self {
        Demand::tokens_of(count, 24)
    }

    /// Numbers in flight that take so many bytes each, with their place among those that came out.
    pub fn tokens_of(count: u32, bytes: u64) -> Self {
        let bytes = u64::from(count) * bytes;
        let need = Need {
            memory: bytes,
            address_space: bytes,
            largest_map: u64::from(count) * 8,
            ..Need::NONE
        };
        Demand::always("--tokens", need)
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
            shares: Vec::new(),
        }
    }

    /// Room for so many tokens more than one in each of the N + 1 links, reserved when a link is made.
    pub fn slots(capacity: u32) -> Self {
        // A token, or where its bytes are and how many, and a turn.
        let bytes = u64::from(capacity.saturating_sub(1)) * 24;
        let link = Need {
            memory: bytes,
            address_space: bytes,
            largest_map: bytes,
            ..Need::NONE
        };
        Demand {
            fixed: link,
            per_task: link,
            shares: vec![Share {
                flag: "--capacity",
                need: link + link,
            }],
        }
    }

    /// N buffers to read into, where they are larger than the byte that a task has in itself.
    pub fn buffers(size: u64) -> Self {
        match size {
            1 => Demand::each(Need::NONE),
            size => Demand::allocations(size),
        }
    }

    /// N allocations of so many bytes each.
    pub(crate) fn allocations(bytes: u64) -> Self {
        // From this size on malloc(3) asks for a map of its own (M_MMAP_THRESHOLD, mallopt(3)).
        let mapped = bytes >= 128 << 10;
        let overhead = if mapped { 8192 } else { 64 };
        Demand::each(match bytes {
            0 => Need::NONE,
            _ => Need {
                memory: bytes + overhead,
                address_space: bytes + overhead,
                largest_map: bytes + overhead,
                maps: u64::from(mapped),
                ..Need::NONE
            },
        })
    }

    /// N async tasks that hold so many bytes each, with their links in memory.
    pub fn memory_tasks(bytes: u64) -> Self {
        Demand::each(Need {
            memory: bytes,
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
