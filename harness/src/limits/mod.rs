//! What N tasks need, what this system allows, and the command that raises it.
//!
//! A benchmark adds up its [`Demand`], reads [`Limits`] once and calls
//! [`Limits::check`] before it builds anything. A limit that is met half-way
//! shows as a bare `EAGAIN`, or not at all: past `vm.max_map_count`,
//! `std::thread::spawn` returns `Ok` and the child dies while it sets up its
//! alternate signal stack, so that the driver waits for a thread that never
//! ran. Hence the sum beforehand.
//!
//! A limit that is not set, that does not bind this process, or whose file
//! cannot be read is not in the list: an unknown limit is skipped, never
//! guessed. All arithmetic saturates.

#![expect(unsafe_code, reason = "sysconf has no safe wrapper for this name")]

use std::io;
use std::ops::Add;
use std::path::Path;

use nix::sys::resource::{Resource as Rlimit, getrlimit, setrlimit};
use serde::Serialize;

mod cgroup;
mod counts;
mod exceeded;
mod explain;
mod limit;
mod mounts;
mod space;
mod system;
#[cfg(test)]
mod tests;

pub use exceeded::{Exceeded, Shortage};
pub use explain::explain;
pub use limit::Limit;

/// What a run needs, beyond what the process and the system use already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Need {
    /// Open file descriptors. A pipe or a socket pair takes two.
    pub descriptors: u64,
    /// Threads, or processes: the kernel counts them alike.
    pub threads: u64,
    /// Memory map areas, the lines of `/proc/self/maps`.
    pub maps: u64,
    /// Bytes resident, the kernel's share included.
    pub memory: u64,
    /// Bytes of virtual memory reserved, touched or not.
    pub address_space: u64,
}

impl Need {
    /// Nothing at all.
    pub const NONE: Need = Need {
        descriptors: 0,
        threads: 0,
        maps: 0,
        memory: 0,
        address_space: 0,
    };

    /// One `std::thread` with `stack` bytes of stack (2 MiB unless set).
    ///
    /// Four maps: the stack and its guard page, and the alternate signal stack
    /// that std gives each thread and its guard page. 40 KiB of memory: a
    /// parked thread was seen to take 33 to 40 KiB, of which 16 KiB are its
    /// kernel stack and about 10 KiB user memory.
    pub const fn std_thread(stack: u64) -> Need {
        const ALTERNATE_STACK_AND_GUARDS: u64 = 24 << 10;
        Need {
            threads: 1,
            maps: 4,
            memory: 40 << 10,
            address_space: stack.saturating_add(ALTERNATE_STACK_AND_GUARDS),
            ..Need::NONE
        }
    }

    /// What the C library's allocator adds, once `threads` threads use it.
    ///
    /// glibc gives each thread an arena of its own until there are 8 for each
    /// processor (`M_ARENA_MAX` in mallopt(3)). An arena takes two maps and
    /// reserves 64 MiB of address space, of which little is touched; 64 MiB
    /// more are mapped for a moment, to align it.
    pub fn malloc_arenas(threads: u64) -> Need {
        const ARENA: Need = Need {
            maps: 2,
            address_space: 64 << 20,
            ..Need::NONE
        };
        // SAFETY: sysconf only returns a number; -1 if the name is unknown.
        let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        let most = u64::try_from(processors).unwrap_or(1).saturating_mul(8);
        ARENA.times(threads.min(most).saturating_add(1))
    }

    /// `count` times this.
    #[must_use]
    pub const fn times(self, count: u64) -> Need {
        Need {
            descriptors: self.descriptors.saturating_mul(count),
            threads: self.threads.saturating_mul(count),
            maps: self.maps.saturating_mul(count),
            memory: self.memory.saturating_mul(count),
            address_space: self.address_space.saturating_mul(count),
        }
    }

    /// The part of this that `resource` names.
    pub const fn of(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Descriptors => self.descriptors,
            Resource::Threads => self.threads,
            Resource::Maps => self.maps,
            Resource::Memory => self.memory,
            Resource::AddressSpace => self.address_space,
        }
    }
}

impl Add for Need {
    type Output = Need;

    fn add(self, other: Need) -> Need {
        Need {
            descriptors: self.descriptors.saturating_add(other.descriptors),
            threads: self.threads.saturating_add(other.threads),
            maps: self.maps.saturating_add(other.maps),
            memory: self.memory.saturating_add(other.memory),
            address_space: self.address_space.saturating_add(other.address_space),
        }
    }
}

/// What N tasks need: a part that is always there, and a part for each task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// Needed however many tasks there are: runtime workers, the last link.
    pub fixed: Need,
    /// Needed once more for each task.
    pub per_task: Need,
}

impl Demand {
    /// About `tasks` threads with `stack` bytes of stack each, and nothing of
    /// what they do.
    ///
    /// The fixed part has the allocator's arenas and some maps to spare, since
    /// running out of maps aborts the process instead of failing the spawn.
    pub fn std_threads(stack: u64, tasks: u64) -> Demand {
        let spare = Need {
            maps: 64,
            ..Need::NONE
        };
        Demand {
            fixed: spare + Need::malloc_arenas(tasks.saturating_add(1)),
            per_task: Need::std_thread(stack),
        }
    }

    /// What `tasks` tasks need together.
    pub fn of(&self, tasks: u64) -> Need {
        self.fixed + self.per_task.times(tasks)
    }
}

impl Add for Demand {
    type Output = Demand;

    fn add(self, other: Demand) -> Demand {
        Demand {
            fixed: self.fixed + other.fixed,
            per_task: self.per_task + other.per_task,
        }
    }
}

/// Which part of a [`Need`] a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Open file descriptors.
    Descriptors,
    /// Threads and processes.
    Threads,
    /// Memory map areas.
    Maps,
    /// Resident memory, in bytes.
    Memory,
    /// Virtual memory, in bytes.
    AddressSpace,
}

impl Resource {
    /// Whether amounts of this are bytes; otherwise they are counts.
    pub const fn is_bytes(self) -> bool {
        matches!(self, Resource::Memory | Resource::AddressSpace)
    }
}

/// Every limit that binds this process now: one snapshot.
///
/// What is in use by others moves, so a snapshot holds for the moment at which
/// it was taken; take it just before building.
#[derive(Debug, Clone)]
pub struct Limits {
    limits: Vec<Limit>,
}

impl Limits {
    /// Reads the limits of the running system.
    pub fn read() -> Limits {
        Limits::read_under(Path::new("/"))
    }

    /// Reads the limits from a copy of `/proc` and `/sys/fs/cgroup` below
    /// `root`; for tests, and for looking at another machine's files.
    pub fn read_under(root: &Path) -> Limits {
        let system = system::System::open(root);
        let limits = [
            counts::limits(&system),
            space::limits(&system),
            cgroup::limits(&system),
        ];
        Limits {
            limits: limits.concat(),
        }
    }

    /// Whether `tasks` tasks fit within every limit.
    ///
    /// # Errors
    /// [`Exceeded`] names every limit that is too low, not only the first, in
    /// the order in which their commands must be given.
    pub fn check(&self, demand: &Demand, tasks: u64) -> Result<(), Exceeded> {
        let need = demand.of(tasks);
        let shortages: Vec<Shortage> = self
            .iter()
            .filter_map(|limit| limit.shortage(need.of(limit.resource)))
            .collect();
        if shortages.is_empty() {
            return Ok(());
        }
        Err(Exceeded {
            tasks,
            largest: self.largest(demand),
            shortages,
        })
    }

    /// The largest number of tasks that every limit allows: 0 when not even
    /// one fits, [`u64::MAX`] when nothing known bounds them.
    pub fn largest(&self, demand: &Demand) -> u64 {
        self.iter()
            .map(|limit| {
                let each = demand.per_task.of(limit.resource);
                let fixed = demand.fixed.of(limit.resource);
                match limit.room().checked_sub(fixed) {
                    Some(room) => room.checked_div(each).unwrap_or(u64::MAX),
                    None => 0,
                }
            })
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Each limit, those of the process first and its cgroups last.
    pub fn iter(&self) -> impl Iterator<Item = &Limit> {
        self.limits.iter()
    }
}

/// Raises this process's soft limit of open files to its hard limit, which
/// needs no privilege.
///
/// # Errors
/// Those of setrlimit(2). `EPERM` is possible where `fs.nr_open` was lowered
/// below the hard limit afterwards.
pub fn raise_descriptors() -> io::Result<()> {
    let (soft, hard) = getrlimit(Rlimit::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Rlimit::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}
