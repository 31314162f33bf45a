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
//! cannot be read takes no part in the check: an unknown limit is skipped,
//! never guessed. [`Limits::findings`] has it all the same, with the reason.
//! All arithmetic saturates.

#![expect(unsafe_code, reason = "sysconf has no safe wrapper for this name")]

use std::io;
use std::ops::Add;
use std::path::Path;

use nix::sys::resource::{Resource as Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

mod cgroup;
mod counts;
mod exceeded;
mod explain;
mod finding;
mod limit;
pub(crate) mod mounts;
mod pipes;
mod raise;
mod remedy;
mod rights;
mod room;
mod space;
mod system;
#[cfg(test)]
mod tests;
mod units;

pub use exceeded::{Exceeded, Shortage};
pub use explain::{explain, explain_of};
pub use finding::{Finding, Standing};
pub use limit::Limit;
pub(crate) use pipes::PAGES_OF_A_PIPE;
pub use raise::{Lease, Outcome, raise};
pub use remedy::Lasting;
pub use rights::{Held, Rights};
pub use room::{Passing, Room};
pub(crate) use system::may_schedule;

/// What a run needs, beyond what the process and the system use already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
    /// Bytes of the largest single memory map: not a sum.
    pub largest_map: u64,
    /// Pipes; not socket pairs.
    pub pipes: u64,
    /// Files watched by epoll.
    pub watches: u64,
    /// Open files that only other processes hold, children of this one: they count for the whole
    /// system, and not among this process's descriptors.
    pub files_elsewhere: u64,
    /// Bytes that such processes may write to, touched or not.
    pub space_elsewhere: u64,
}

impl Need {
    /// Nothing at all.
    pub const NONE: Need = Need {
        descriptors: 0,
        threads: 0,
        maps: 0,
        memory: 0,
        address_space: 0,
        largest_map: 0,
        pipes: 0,
        watches: 0,
        files_elsewhere: 0,
        space_elsewhere: 0,
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
            largest_map: stack,
            ..Need::NONE
        }
    }

    /// One thread on `stack` bytes of stack with neither a guard page nor an
    /// alternate signal stack.
    ///
    /// No map: neighbouring stacks are one. The memory is that of a std thread:
    /// the pages that are left out are never touched, and of the 2 KiB less
    /// that were seen (heap, and the kernel's memory for maps) none is certain.
    pub const fn unguarded_thread(stack: u64) -> Need {
        Need {
            maps: 0,
            address_space: stack,
            ..Need::std_thread(stack)
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

    /// What this process needs where a child of it needs this: open files and memory of the whole
    /// system, and nothing of what bounds a single process.
    #[must_use]
    pub const fn in_a_child(self) -> Need {
        Need {
            files_elsewhere: self.descriptors,
            space_elsewhere: self.address_space,
            descriptors: 0,
            maps: 0,
            address_space: 0,
            ..self
        }
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
            largest_map: if count == 0 { 0 } else { self.largest_map },
            pipes: self.pipes.saturating_mul(count),
            watches: self.watches.saturating_mul(count),
            files_elsewhere: self.files_elsewhere.saturating_mul(count),
            space_elsewhere: self.space_elsewhere.saturating_mul(count),
        }
    }

    /// What is left of this without `other`, which is a part of it.
    #[must_use]
    pub(crate) const fn less(self, other: Need) -> Need {
        Need {
            descriptors: self.descriptors.saturating_sub(other.descriptors),
            threads: self.threads.saturating_sub(other.threads),
            maps: self.maps.saturating_sub(other.maps),
            memory: self.memory.saturating_sub(other.memory),
            address_space: self.address_space.saturating_sub(other.address_space),
            // Not a sum: what is left may need one as large.
            largest_map: self.largest_map,
            pipes: self.pipes.saturating_sub(other.pipes),
            watches: self.watches.saturating_sub(other.watches),
            files_elsewhere: self.files_elsewhere.saturating_sub(other.files_elsewhere),
            space_elsewhere: self.space_elsewhere.saturating_sub(other.space_elsewhere),
        }
    }

    /// The part of this that `resource` names.
    pub const fn of(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Descriptors => self.descriptors,
            Resource::Files => self.descriptors.saturating_add(self.files_elsewhere),
            Resource::Threads => self.threads,
            Resource::Maps => self.maps,
            Resource::Memory => self.memory,
            Resource::AddressSpace => self.address_space,
            Resource::Commit => self.address_space.saturating_add(self.space_elsewhere),
            Resource::LargestMap => self.largest_map,
            Resource::Pipes => self.pipes,
            Resource::Watches => self.watches,
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
            largest_map: self.largest_map.max(other.largest_map),
            pipes: self.pipes.saturating_add(other.pipes),
            watches: self.watches.saturating_add(other.watches),
            files_elsewhere: self.files_elsewhere.saturating_add(other.files_elsewhere),
            space_elsewhere: self.space_elsewhere.saturating_add(other.space_elsewhere),
        }
    }
}

/// What N tasks need: a part that is always there, and a part for each task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// Needed however many tasks there are: runtime workers, the last link.
    pub fixed: Need,
    /// Needed once more for each task.
    pub per_task: Need,
    /// What of it comes from flags other than `--tasks`.
    #[serde(skip)]
    pub shares: Vec<Share>,
}

/// The part of a demand, for one task and all that is always there, that a flag asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The flag, with its dashes.
    pub flag: &'static str,
    /// What would not be needed without it.
    pub need: Need,
}

impl Share {
    /// The stack of a thread.
    fn stack(bytes: u64) -> Self {
        Share {
            flag: "--stack-size",
            need: Need {
                address_space: bytes,
                largest_map: bytes,
                ..Need::NONE
            },
        }
    }
}

/// Room for maps that come and go.
const SPARE_MAPS: Need = Need {
    maps: 64,
    ..Need::NONE
};

impl Demand {
    /// About `tasks` threads with `stack` bytes of stack each, and nothing of
    /// what they do.
    ///
    /// The fixed part has the allocator's arenas and some maps to spare, since
    /// running out of maps aborts the process instead of failing the spawn.
    pub fn std_threads(stack: u64, tasks: u64) -> Demand {
        Demand {
            fixed: SPARE_MAPS + Need::malloc_arenas(tasks.saturating_add(1)),
            per_task: Need::std_thread(stack),
            shares: vec![Share::stack(stack)],
        }
    }

    /// The same without guard pages and signal stacks: a few maps, however
    /// many threads.
    ///
    /// glibc keeps up to 40 MiB of the stacks of threads that have ended
    /// (`glibc.pthread.stack_cache_size`), each of which may be a map by
    /// itself while the stacks around it are unmapped. Where that met the
    /// limit, glibc would abort the process.
    pub fn unguarded_threads(stack: u64, tasks: u64) -> Demand {
        const KEPT: u64 = 40 << 20;
        let kept = Need {
            maps: (KEPT / stack.max(1)).min(tasks),
            ..Need::NONE
        };
        Demand {
            fixed: SPARE_MAPS + kept + Need::malloc_arenas(tasks.saturating_add(1)),
            per_task: Need::unguarded_thread(stack),
            shares: vec![Share::stack(stack)],
        }
    }

    /// What `tasks` tasks need together.
    pub fn of(&self, tasks: u64) -> Need {
        self.fixed + self.per_task.times(tasks)
    }

    /// The flag other than `--tasks` that asks for most of what even one task needs of a
    /// resource, if one does.
    fn flag_behind(&self, resource: Resource) -> Option<&'static str> {
        let share = self
            .shares
            .iter()
            .max_by_key(|share| share.need.of(resource))?;
        let half = self.of(1).of(resource).div_ceil(2);
        (half > 0 && share.need.of(resource) >= half).then_some(share.flag)
    }
}

impl Add for Demand {
    type Output = Demand;

    fn add(self, other: Demand) -> Demand {
        Demand {
            fixed: self.fixed + other.fixed,
            per_task: self.per_task + other.per_task,
            shares: [self.shares, other.shares].concat(),
        }
    }
}

/// Which part of a [`Need`] a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Open file descriptors of this process.
    Descriptors,
    /// Open files of the whole system.
    Files,
    /// Threads and processes.
    Threads,
    /// Memory map areas.
    Maps,
    /// Resident memory, in bytes.
    Memory,
    /// Virtual memory of this process, in bytes.
    AddressSpace,
    /// Virtual memory of all processes, in bytes.
    Commit,
    /// A single memory map, in bytes.
    LargestMap,
    /// Pipes.
    Pipes,
    /// Files watched by epoll.
    Watches,
}

impl Resource {
    /// Whether amounts of this are bytes; otherwise they are counts.
    pub const fn is_bytes(self) -> bool {
        matches!(
            self,
            Resource::Memory | Resource::AddressSpace | Resource::Commit | Resource::LargestMap
        )
    }

    /// Whether it runs out only for links that are descriptors.
    pub const fn is_of_links(self) -> bool {
        matches!(
            self,
            Resource::Descriptors | Resource::Files | Resource::Pipes | Resource::Watches
        )
    }
}

/// Every limit of this system now: one snapshot.
///
/// What is in use by others moves, so a snapshot holds for the moment at which
/// it was taken; take it just before building.
#[derive(Debug, Clone)]
pub struct Limits {
    findings: Vec<Finding>,
    rights: Rights,
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
        let findings = [
            counts::findings(&system),
            pipes::findings(&system),
            space::findings(&system),
            cgroup::findings(&system),
        ];
        Limits {
            findings: findings.concat(),
            rights: system.rights(),
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
        let largest = self.largest(demand);
        let mut flags = Vec::new();
        if largest == 0 {
            let behind = |short: &Shortage| demand.flag_behind(short.resource);
            flags.extend(shortages.iter().filter_map(behind));
            flags.dedup();
        }
        Err(Exceeded {
            tasks,
            largest,
            shortages,
            flags,
        })
    }

    /// The largest number of tasks that every limit allows: 0 when not even
    /// one fits, [`u64::MAX`] when nothing known bounds them.
    pub fn largest(&self, demand: &Demand) -> u64 {
        self.iter()
            .map(|limit| limit.largest(demand))
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Each limit that binds, those of the process first and its cgroups last.
    pub fn iter(&self) -> impl Iterator<Item = &Limit> {
        let binds = |finding: &&Finding| finding.standing == Standing::Binds;
        self.findings
            .iter()
            .filter(binds)
            .filter_map(Finding::limit)
    }

    /// Everything that was looked at, with what does not bind and what could not be read.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What this process may raise.
    pub fn rights(&self) -> &Rights {
        &self.rights
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
