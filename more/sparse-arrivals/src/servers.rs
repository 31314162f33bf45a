//! What serves: threads, runtimes, and how each is told of an arrival.

use std::collections::VecDeque;
use std::io::{Write, pipe};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::Context;
use contract::Run;
use threads::futex::{self, Kind};
use threads::{join, restrict};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::generator::Generator;
use crate::window::{Task, Window};

/// Tokio, with a task that reads of each arrival from a pipe and spawns the tasks.
pub(crate) fn from_inside(
    runtime: &Runtime,
    window: &'static Window,
    generator: Generator,
    run: &mut Run,
) -> anyhow::Result<()> {
    let (reader, mut writer) = pipe().context("cannot make the pipe")?;
    let acceptor = runtime.spawn(async move {
        let mut reader = pipe::Receiver::from_owned_fd(reader.into())?;
        let (mut bytes, mut taken) = ([0; 4096], 0);
        loop {
            let count = reader.read(&mut bytes).await? as u64;
            if count == 0 {
                return anyhow::Ok(());
            }
            for k in taken..taken + count {
                let task = window.task(k);
                tokio::spawn(async move { task.run() });
            }
            taken += count;
        }
    });
    let generated =
        generator.generate(run, |_| writer.write_all(&[0]).context("cannot write to the pipe"));
    drop(writer);
    runtime.block_on(runtime::join(acceptor)).and(generated)
}

/// A current-thread runtime on each CPU that serves; tasks go to one after the other.
pub(crate) fn per_cpu(cpus: &[usize], generator: Generator, run: &mut Run) -> anyhow::Result<()> {
    let (mut handles, mut stops, mut threads) = (Vec::new(), Vec::new(), Vec::new());
    for &cpu in cpus {
        let runtime = Builder::new_current_thread().enable_io().build();
        let runtime = runtime.context("cannot build a runtime")?;
        handles.push(runtime.handle().clone());
        let (stop, stopped) = oneshot::channel::<()>();
        stops.push(stop);
        let body = move || {
            let restricted = restrict(&[cpu]).context("cannot restrict a thread to a CPU");
            // It ends when the other end is dropped.
            let _ = runtime.block_on(stopped);
            restricted
        };
        threads.push(thread::Builder::new().spawn(body).context("cannot start a thread")?);
    }
    let mut next = 0;
    generator.generate(run, |task| {
        handles[next].spawn(async move { task.run() });
        next = (next + 1) % handles.len();
        Ok(())
    })?;
    drop(stops);
    threads.into_iter().try_for_each(|thread| join(thread)?)
}

/// Threads at a queue, a mutex and a condition variable.
pub(crate) fn at_condvar(workers: u32, generator: Generator, run: &mut Run) -> anyhow::Result<()> {
    let queue = Arc::new(CondvarQueue::default());
    let threads = start(workers, &queue, CondvarQueue::serve)?;
    generator.generate(run, |task| {
        queue.lock().0.push_back(task);
        queue.arrived.notify_one();
        Ok(())
    })?;
    queue.lock().1 = true;
    queue.arrived.notify_all();
    threads.into_iter().try_for_each(join)
}

/// Threads that count arrivals and sleep in futex(2); each does `serve` with the tasks that it takes.
pub(crate) fn at_futex(
    workers: u32,
    window: &'static Window,
    generator: Generator,
    run: &mut Run,
    serve: fn(&'static Window, Task),
) -> anyhow::Result<()> {
    let queue = Arc::new(FutexQueue::default());
    let threads = start(workers, &queue, move |queue: &FutexQueue| queue.serve(window, serve))?;
    generator.generate(run, |_| {
        queue.arrive();
        Ok(())
    })?;
    queue.is_over.store(true, SeqCst);
    queue.word.fetch_add(1, SeqCst);
    for _ in 0..workers {
        futex::wake(&queue.word, Kind::Private);
    }
    threads.into_iter().try_for_each(join)
}

pub(crate) fn create_thread(window: &'static Window, task: Task) {
    // Nobody joins it: the window counts the tasks that have ended.
    if let Err(e) = thread::Builder::new().spawn(move || task.run()) {
        window.fail(format!("cannot create a thread for a task: {e}: lower --load or --tasks"));
    }
}

fn start<Q: Send + Sync + 'static>(
    workers: u32,
    queue: &Arc<Q>,
    serve: impl Fn(&Q) + Copy + Send + 'static,
) -> anyhow::Result<Vec<JoinHandle<()>>> {
    let start = |k| {
        let queue = Arc::clone(queue);
        let thread = thread::Builder::new().spawn(move || serve(&queue));
        thread.with_context(|| format!("cannot start thread {k}: lower --workers"))
    };
    (0..workers).map(start).collect()
}

/// Tasks that wait, and whether there will be no more.
#[derive(Debug, Default)]
struct CondvarQueue {
    tasks: Mutex<(VecDeque<Task>, bool)>,
    arrived: Condvar,
}

impl CondvarQueue {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<Task>, bool)> {
        // Nothing panics while it is locked.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        loop {
            let is_idle = |tasks: &mut (VecDeque<Task>, bool)| tasks.0.is_empty() && !tasks.1;
            let tasks = self.arrived.wait_while(self.lock(), is_idle);
            let task = tasks.unwrap_or_else(PoisonError::into_inner).0.pop_front();
            match task {
                Some(task) => task.run(),
                None => return,
            }
        }
    }
}

/// Counts of the tasks that have arrived and of those that were taken: tasks have numbers, and so this is a
/// queue.
#[derive(Debug, Default)]
struct FutexQueue {
    arrived: AtomicU64,
    taken: AtomicU64,
    /// Changes with each arrival; threads sleep on it.
    word: AtomicU32,
    sleepers: AtomicU32,
    is_over: AtomicBool,
}

impl FutexQueue {
    /// Tells of a task, and wakes a thread if one sleeps.
    fn arrive(&self) {
        self.arrived.fetch_add(1, SeqCst);
        self.word.fetch_add(1, SeqCst);
        if self.sleepers.load(SeqCst) > 0 {
            futex::wake(&self.word, Kind::Private);
        }
    }

    fn take(&self) -> Option<u64> {
        let next = |taken| (taken < self.arrived.load(SeqCst)).then_some(taken + 1);
        self.taken.fetch_update(SeqCst, SeqCst, next).ok()
    }

    fn serve(&self, window: &'static Window, serve: fn(&'static Window, Task)) {
        loop {
            let seen = self.word.load(SeqCst);
            if let Some(k) = self.take() {
                serve(window, window.task(k));
                continue;
            }
            if self.is_over.load(SeqCst) {
                return;
            }
            // Whatever arrives from here on has changed the word, or finds a sleeper.
            self.sleepers.fetch_add(1, SeqCst);
            futex::wait(&self.word, seen, Kind::Private);
            self.sleepers.fetch_sub(1, SeqCst);
        }
    }
}
