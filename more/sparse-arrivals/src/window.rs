//! Memory of the tasks of a request: what each did and when. A server that is a process of its own (`--server`) has it
//! too: the number of tasks that have ended, in a cache line of its own, and then the records.

#![expect(unsafe_code, reason = "the memory is mapped")]

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use memmap2::MmapMut;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::time::{ClockId, clock_gettime};

use crate::work::multiply;

/// Memory of a request's tasks. One lives as long as the process, so that a task is two words.
#[derive(Debug)]
pub(crate) struct Window {
    /// Time by CLOCK_MONOTONIC, which two processes have in common, in ns.
    epoch: u64,
    /// Multiplications of a task.
    work: u32,
    file: File,
    ended: &'static Count,
    records: &'static [Record],
    /// Why a task could not be started.
    failure: OnceLock<String>,
}

/// What a task did, in ns since the epoch.
#[derive(Debug)]
#[repr(C)]
struct Record {
    started: AtomicU64,
    ended: AtomicU64,
    product: AtomicU64,
}

/// Number of tasks that have ended, in a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Count(AtomicU64);

/// A task: its place in the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    window: &'static Window,
    place: usize,
}

/// Times of a task in ns since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) started: u64,
    pub(crate) ended: u64,
}

impl Task {
    /// The task itself: reads the clock, multiplies, reads the clock.
    pub(crate) fn run(self) {
        let window = self.window;
        let started = window.now();
        let product = multiply(window.work);
        let ended = window.now();
        let record = &window.records[self.place];
        record.started.store(started, Ordering::Relaxed);
        record.ended.store(ended, Ordering::Relaxed);
        record.product.store(product, Ordering::Relaxed);
        window.ended.0.fetch_add(1, Ordering::Release);
    }
}

impl Window {
    /// Memory for so many tasks, touched.
    pub(crate) fn new(tasks: usize, work: u32) -> anyhow::Result<&'static Self> {
        // A process that this one starts inherits it.
        let file = File::from(memfd_create(c"tasks", MFdFlags::empty()).context("no memory")?);
        let size = size_of::<Count>() + tasks * size_of::<Record>();
        file.set_len(size as u64)?;
        // SAFETY: nobody makes the file shorter, and what it holds is read and written by atomic operations alone.
        let mut memory = unsafe { MmapMut::map_mut(&file) }.context("cannot map memory")?;
        memory.fill(0);
        let start = Box::leak(Box::new(memory)).as_ptr();
        // SAFETY: the memory begins a page, is never unmapped, and has room for a count and the records, of which any
        // bytes are values.
        let (ended, records) = unsafe {
            let records = start.add(size_of::<Count>()).cast::<Record>();
            (&*start.cast::<Count>(), slice::from_raw_parts(records, tasks))
        };
        let (epoch, failure) = (monotonic(), OnceLock::new());
        Ok(Box::leak(Box::new(Window { epoch, work, file, ended, records, failure })))
    }

    /// Command line of a server with so many workers.
    pub(crate) fn arguments(&self, workers: u32) -> [String; 5] {
        let (file, tasks) = (self.file.as_raw_fd() as u64, self.records.len() as u64);
        [file, workers.into(), tasks, self.work.into(), self.epoch].map(|n| n.to_string())
    }

    /// The `k`th task of all requests.
    pub(crate) fn task(&'static self, k: u64) -> Task {
        Task { window: self, place: (k % self.records.len() as u64) as usize }
    }

    /// Time since the epoch, in ns.
    pub(crate) fn now(&self) -> u64 {
        monotonic() - self.epoch
    }

    /// Number of tasks of all requests that have ended; an error if one could not be started.
    pub(crate) fn ended(&self) -> anyhow::Result<u64> {
        match self.failure.get() {
            Some(failure) => bail!("{failure}"),
            None => Ok(self.ended.0.load(Ordering::Acquire)),
        }
    }

    /// Says why a task could not be started; the first cause stands.
    pub(crate) fn fail(&self, cause: String) {
        // A later one follows from the same lack.
        let _ = self.failure.set(cause);
    }

    /// Times of these tasks, all of which have ended; an error for one that did not do its work.
    pub(crate) fn times(&self, tasks: Range<u64>) -> impl Iterator<Item = anyhow::Result<Times>> {
        let product = multiply(self.work);
        tasks.map(move |k| {
            let record = &self.records[(k % self.records.len() as u64) as usize];
            let found = record.product.swap(!product, Ordering::Relaxed);
            if found != product {
                bail!("task {k} found {found}, expected {product}");
            }
            let [started, ended] =
                [&record.started, &record.ended].map(|time| time.load(Ordering::Relaxed));
            Ok(Times { started, ended })
        })
    }
}

/// CLOCK_MONOTONIC in ns.
fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    Duration::from(now).as_nanos() as u64
}
