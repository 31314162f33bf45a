//! Threads by clone(2) alone, which shows how much of a thread's creation is the kernel's.
//!
//! One iteration: create N threads, each of which notes that it has run and ends, and join them. Timed: the N system
//! calls, and preparing their arguments. Left out: the stacks, which are mapped once; the joins; and all that the C
//! library prepares for a thread: a guard page, thread-local storage, a signal stack, a list of threads.
//!
//! Such a thread shares the thread-local storage of its creator and must not use it: it runs a few instructions and
//! ends. The signal handlers of `contract` may run in it, since they keep errno. The stacks are one mapping, without
//! guard pages.

#![expect(unsafe_code, reason = "threads are created by a system call and share memory with it")]

use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{io, ptr, thread};

use anyhow::{Context, Result, ensure};
use brigade::{Gate, StackFlags};
use contract::message::{Need, Needs};
use contract::{Interrupted, Pass, Run, Step, limits, signals};

/// Creates N threads in each iteration, and times that.
pub(crate) fn measure(n: u32, stack: StackFlags, run: &mut Run) -> Result<()> {
    let mut threads = RawThreads::new(stack, n).context("cannot map the stacks")?;
    while let Some(step) = run.next_step()? {
        match step {
            Step::Hold => hold(n, &mut threads, run)?,
            Step::Pass(mut pass) => {
                create(n, &mut threads, &mut pass)?;
                run.finish(*pass)?;
            }
        }
    }
    Ok(())
}

fn create(n: u32, threads: &mut RawThreads, pass: &mut Pass) -> Result<()> {
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for _ in 0..n {
            threads.create(None).with_context(|| limits::refused("create a thread", n))?;
        }
        pass.record(clock.elapsed());

        let started = threads.join();
        ensure!(started == n as usize, "only {started} of {n} threads have run");
    }
    Ok(())
}

/// Holds N threads, all asleep.
fn hold(n: u32, threads: &mut RawThreads, run: &mut Run) -> Result<()> {
    let gate = Gate::new()?;
    // The threads know only the descriptor's number, so this reader stays open until all of them have ended.
    let reader = gate.reader();
    let held = wait_at(&*reader, n, threads).and_then(|()| run.held());
    // After an error the gate is dropped, which ends the threads too.
    let result = held.and_then(|()| gate.open(n));
    threads.join();
    result
}

/// Creates N threads that wait at a gate, and waits until each has run.
fn wait_at(gate: impl AsFd, n: u32, threads: &mut RawThreads) -> Result<()> {
    for _ in 0..n {
        let created = threads.create(Some(gate.as_fd()));
        created.with_context(|| limits::refused("create a thread", n))?;
    }
    while threads.started() < n as usize {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Upper bound of the bytes of a thread: its kernel stack and structures, a page of its own stack, and the
/// creator's memory for it.
const THREAD_BYTES: u64 = 30 << 10;

/// Needs of such threads, with the gate and the mapping of all stacks.
pub(crate) fn needs(stack: StackFlags) -> Needs {
    Needs {
        threads: Need::new(0, 1),
        maps: Need::new(64, 0),
        descriptors: Need::new(10, 0),
        bytes: Need::new(4 << 20, THREAD_BYTES),
        space: Need::new(0, stack.stack_size.0 + (8 << 10)),
    }
}

/// Flags that make the new task a thread of this process.
const FLAGS: c_int = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_CHILD_CLEARTID;

/// Threads that are created one by one and joined together. Dropping it joins those that are left.
#[derive(Debug)]
struct RawThreads {
    /// Mapping of all stacks.
    base: *mut c_void,
    /// Bytes of a stack.
    each: usize,
    shared: Vec<Shared>,
    /// Number of threads created since the last join.
    created: usize,
}

/// Memory that a thread shares with its creator, in a cache line of its own.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Shared {
    /// 1 from before the thread is created until the kernel clears it (`CLONE_CHILD_CLEARTID`, clone(2)).
    alive: AtomicU32,
    has_run: AtomicBool,
    /// Descriptor that the thread reads a byte from, or -1.
    gate: AtomicI32,
}

impl RawThreads {
    /// Maps the stacks of `tasks` threads, in an odd number of pages: stacks that lie a power of two apart share few
    /// sets of the TLB. `MAP_NORESERVE`, since with the usual vm.overcommit_memory of 0 the kernel refuses a mapping
    /// larger than its memory.
    fn new(stack: StackFlags, tasks: u32) -> io::Result<Self> {
        // SAFETY: sysconf only returns a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let each = ((stack.stack_size.0 as usize).div_ceil(page) | 1) * page;
        let bytes = each.checked_mul(tasks as usize);
        let bytes = bytes.ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: new memory at an address of the kernel's choice, which nothing else uses.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: advice on the mapping just made. A huge page would make a single touched stack
        // resident as 2 MiB; a kernel that refuses the advice has none.
        unsafe { libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE) };
        let shared = (0..tasks).map(|_| Shared::default()).collect();
        Ok(RawThreads { base, each, shared, created: 0 })
    }

    /// Creates the next thread; panics if all have been created. With a gate it sleeps until it has read a byte from
    /// it: the descriptor stays open until the thread is gone.
    fn create(&mut self, gate: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let shared = &self.shared[self.created];
        shared.gate.store(gate.map_or(-1, |fd| fd.as_raw_fd()), Ordering::Relaxed);
        shared.has_run.store(false, Ordering::Relaxed);
        shared.alive.store(1, Ordering::Relaxed);
        let top = self.base.wrapping_byte_add(self.each * (self.created + 1));
        let own = ptr::from_ref(shared).cast_mut().cast();
        let none = ptr::null_mut::<c_void>();
        // SAFETY: nothing else uses the stack until `join` has seen the thread go, and the shared memory is
        // used by atomics. Both outlive the thread, since `drop` joins what is left.
        let id = unsafe { libc::clone(run, top, FLAGS, own, none, none, shared.alive.as_ptr()) };
        if id == -1 {
            shared.alive.store(0, Ordering::Relaxed);
            return Err(io::Error::last_os_error());
        }
        self.created += 1;
        Ok(())
    }

    /// Number of threads that have run since the last join.
    fn started(&self) -> usize {
        let shared = self.shared[..self.created].iter();
        shared.filter(|shared| shared.has_run.load(Ordering::Relaxed)).count()
    }

    /// Waits until all are gone, and returns how many have run.
    fn join(&mut self) -> usize {
        self.shared[..self.created].iter().for_each(Shared::wait);
        let started = self.started();
        self.created = 0;
        started
    }
}

impl Drop for RawThreads {
    fn drop(&mut self) {
        self.join();
        // SAFETY: the mapping is this one's, of this size, and its threads have been joined.
        unsafe { libc::munmap(self.base, self.each * self.shared.len()) };
    }
}

impl Shared {
    /// Sleeps until the thread is gone, as pthread_join(3) does.
    fn wait(&self) {
        while self.alive.load(Ordering::Acquire) != 0 {
            let no_timeout = ptr::null::<libc::timespec>();
            let word = self.alive.as_ptr();
            // Not FUTEX_WAIT_PRIVATE: the kernel wakes by FUTEX_WAKE (`mm_release`, kernel/fork.c).
            // SAFETY: the kernel only reads the word, which outlives the call. Whatever the call returns,
            // the word is looked at again.
            unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, 1, no_timeout) };
        }
    }
}

/// The whole life of a thread. When it returns, the C library calls exit(2).
extern "C" fn run(shared: *mut c_void) -> c_int {
    // SAFETY: `create` has passed it, and it outlives the thread.
    let shared = unsafe { &*shared.cast::<Shared>() };
    shared.has_run.store(true, Ordering::Relaxed);
    let gate = shared.gate.load(Ordering::Relaxed);
    if gate >= 0 {
        let mut byte = 0u8;
        // Not read(3): a cancellation point changes thread-local storage.
        // SAFETY: the call writes to `byte` alone. If it fails, the thread ends as well.
        unsafe { libc::syscall(libc::SYS_read, gate, &raw mut byte, 1usize) };
    }
    0
}
