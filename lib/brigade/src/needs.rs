//! What a chain says of itself before it is built: its description, and what it needs of the system. No figure depends on
//! it, only whether a run is begun.

use std::fs::File;
use std::io::{ErrorKind, Write};

use anyhow::Context;
use contract::BadUsage;
use contract::message::{Claim, Description, Need, Needs};
use host::units::Bytes;

use crate::{ChainFlags, LinkFlags, StackFlags, Transport};

/// Descriptors that are not part of a link: the standard three, an epoll, a timer, and a few for a runtime.
const DESCRIPTORS_TO_SPARE: u64 = 16;

/// Memory maps of a thread: stack, guard page, signal stack and its guard page. The kernel allows a process
/// 65,530 unless told otherwise (vm.max_map_count).
const MAPS: u64 = 4;

/// Default stack size of a thread.
const STD_STACK: u64 = 2 << 20;

/// From this size on a stack has a page table of its own.
const PAGE_TABLE_SPAN: u64 = 2 << 20;

/// Bytes of a thread that has worked: its stack as far as it is used, queues, and the kernel's share.
const WORKER_BYTES: u64 = 100 << 10;

/// Needs of `workers` workers, however many tasks they run.
pub fn worker_needs(workers: u32) -> Needs {
    let workers = u64::from(workers);
    Needs {
        threads: Need::new(workers, 0),
        maps: Need::new(workers * MAPS, 0),
        bytes: Need::new(workers * WORKER_BYTES, 0),
        space: Need::new(workers * STD_STACK, 0),
        ..Needs::default()
    }
}

impl StackFlags {
    /// Needs of threads that wait, their kernel stacks and task structures included: about 40 KiB
    /// each, a tenth more than was seen. The heaps that the C library reserves for threads (arenas, mallopt(3)) are
    /// not counted: with less address space, it makes fewer of them.
    pub fn needs(self) -> Needs {
        let Bytes(stack) = self.stack_size;
        let tables = u64::from(stack >= PAGE_TABLE_SPAN) * (4 << 10);
        Needs {
            threads: Need::new(0, 1),
            // Those heaps do take maps.
            maps: Need::new(64, MAPS),
            bytes: Need::new(0, (40 << 10) + tables),
            space: Need::new(0, stack),
            ..Needs::default()
        }
    }
}

impl ChainFlags {
    /// Describes a chain: K tokens make N + 1 hops each. `needs` is what its links and tasks take.
    pub fn describe(&self, program: &str, claim: Claim, needs: Needs) -> Description {
        let tokens = u64::from(self.tokens);
        // 4 MiB for the process, and the list of tokens.
        let listed = Needs { bytes: Need::new(tokens * 8 + (4 << 20), 0), ..Needs::default() };
        Description {
            hops: Some((u64::from(self.tasks()) + 1) * tokens),
            tokens,
            bytes: Some(tokens),
            needs: needs + listed,
            ..Description::new(program, &self.flags, claim)
        }
    }

    /// Checks that there is room for all tokens: the driver sends all of them before it takes the first one back.
    pub fn ensure_room(&self, capacity: u64) -> anyhow::Result<()> {
        if u64::from(self.tokens) <= capacity {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--tokens {} is more than the links can hold (at capacity {capacity}): lower it",
            self.tokens
        )))
    }
}

impl LinkFlags {
    /// Describes a chain with its links; `needs` is what its tasks take.
    pub fn describe(
        &self,
        program: &str,
        claim: Claim,
        needs: Needs,
    ) -> anyhow::Result<Description> {
        let links = self.transport.needs(&self.chain, claim)?;
        Ok(self.chain.describe(program, claim, links + needs))
    }
}

impl Transport {
    /// Needs of the links of a chain. An error if they cannot hold its tokens: in a program of one thread, one link has
    /// to hold all of them; in other programs, each task can also hold one.
    pub fn needs(self, chain: &ChainFlags, claim: Claim) -> anyhow::Result<Needs> {
        if chain.tokens > 1 {
            let tasks = if claim == Claim::NoSwitch { 0 } else { chain.tasks() };
            chain.ensure_room(self.capacity()?.max(tasks).into())?;
        }
        Ok(Needs {
            descriptors: Need::new(2 + DESCRIPTORS_TO_SPARE, 2),
            maps: Need::new(64, 0),
            bytes: Need::new(0, self.kernel_bytes()),
            ..Needs::default()
        })
    }

    /// Upper bound of the kernel memory for both ends of a link: inodes, buffers, waiters.
    fn kernel_bytes(self) -> u64 {
        match self {
            Transport::Pipe => 8 << 10,
            Transport::Socketpair => 6 << 10,
            Transport::Tcp => 24 << 10,
        }
    }

    /// Number of tokens that an empty link holds, found by filling one: a pipe merges small writes into pages, while a
    /// socket keeps a buffer, with overhead, for each write.
    fn capacity(self) -> anyhow::Result<u32> {
        let (_reader, mut writer): (File, File) = self.nonblocking_link(1)?;
        let mut held = 0;
        loop {
            match writer.write(&[0]) {
                Ok(_) => held += 1,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(held),
                Err(e) => return Err(e).context("cannot learn a link's capacity"),
            }
        }
    }
}
