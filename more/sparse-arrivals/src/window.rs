//! Memory of the tasks of a request: what each did and when.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::work::multiply;

/// Memory of a request's tasks. One lives as long as the process, so that a task is two words.
#[derive(Debug)]
pub(crate) struct Window {
    epoch: Instant,
    /// Multiplications of a task.
    work: u32,
    records: Box<[Record]>,
    ended: Count,
    /// Why a task could not be started.
    failure: OnceLock<String>,
}

/// What a task did, in ns since the epoch.
#[derive(Debug, Default)]
struct Record {
    started: AtomicU64,
    ended: AtomicU64,
    product: AtomicU64,
}

/// Number of tasks that have ended, in a cache line of its own.
#[derive(Debug, Default)]
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
    pub(crate) fn new(tasks: usize, work: u32) -> &'static Self {
        let mut records = Vec::with_capacity(tasks);
        records.resize_with(tasks, Record::default);
        Box::leak(Box::new(Window {
            epoch: Instant::now(),
            work,
            records: records.into(),
            ended: Count::default(),
            failure: OnceLock::new(),
        }))
    }

    /// The `k`th task of all requests.
    pub(crate) fn task(&'static self, k: u64) -> Task {
        Task { window: self, place: (k % self.records.len() as u64) as usize }
    }

    /// Time since the epoch, in ns.
    pub(crate) fn now(&self) -> u64 {
        Duration::as_nanos(&self.epoch.elapsed()) as u64
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
