//! A minimal executor on io_uring: it polls the tasks that are ready, and then one system call submits what
//! they have begun and waits for what completes.
//!
//! A task waits for nothing but its own operations. A completion therefore names the task to poll next, and
//! no wakers are needed.

#![expect(unsafe_code, reason = "the kernel is given memory to read and write")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::{Pin, pin};
use std::ptr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use anyhow::Context as _;
use io_uring::{IoUring, opcode, squeue, types};
use nix::errno::Errno;

/// A task, until it has ended, or its result.
enum Task {
    Alive(Pin<Box<dyn Future<Output = anyhow::Result<u64>>>>),
    Ended(anyhow::Result<u64>),
}

/// The executor.
pub(crate) struct Ring {
    queue: Rc<Queue>,
    tasks: Vec<Task>,
}

/// The queues that the kernel shares with the program, and the tasks that are ready.
struct Queue {
    io: RefCell<IoUring>,
    /// Numbers of the tasks to poll, in order.
    ready: RefCell<VecDeque<usize>>,
    /// Number of the task that is polled now.
    current: Cell<usize>,
}

/// A read or a write. While it is in flight the kernel holds a reference to it: the token and the descriptor
/// stay as they are until it completes, even if its task is gone.
struct Operation {
    fd: OwnedFd,
    token: Cell<u8>,
    /// Number of bytes, or a negative errno; none while it is in flight.
    result: Cell<Option<i32>>,
    task: Cell<usize>,
}

/// End of a link: a descriptor, and the operation on it.
pub(crate) struct End {
    queue: Rc<Queue>,
    operation: Rc<Operation>,
}

impl Ring {
    /// An executor on this ring.
    pub(crate) fn new(io: IoUring) -> Self {
        let io = RefCell::new(io);
        let queue = Queue { io, ready: RefCell::default(), current: Cell::new(0) };
        Ring { queue: Rc::new(queue), tasks: Vec::new() }
    }

    /// End of a link with this blocking descriptor.
    pub(crate) fn end(&self, fd: OwnedFd) -> End {
        let (token, result, task) = (Cell::new(u8::MAX), Cell::new(Some(0)), Cell::new(0));
        let operation = Rc::new(Operation { fd, token, result, task });
        End { queue: Rc::clone(&self.queue), operation }
    }

    /// Starts a task: it runs until it waits for the first time.
    pub(crate) fn spawn(&mut self, task: impl Future<Output = anyhow::Result<u64>> + 'static) {
        self.queue.ready.borrow_mut().push_back(self.tasks.len());
        self.tasks.push(Task::Alive(Box::pin(task)));
        while let Some(number) = self.queue.next_ready() {
            self.poll(number);
        }
    }

    /// Runs tasks until `main` is over.
    pub(crate) fn block_on<T>(&mut self, main: impl Future<Output = T>) -> anyhow::Result<T> {
        let mut main = pin!(main);
        self.queue.ready.borrow_mut().push_back(self.tasks.len());
        loop {
            while let Some(number) = self.queue.next_ready() {
                if number < self.tasks.len() {
                    self.poll(number);
                } else if let Poll::Ready(output) = main.as_mut().poll(&mut nobody()) {
                    return Ok(output);
                }
            }
            self.queue.enter(1).context("cannot wait for completions (io_uring_enter)")?;
        }
    }

    /// Runs tasks until all have ended, and returns their results.
    pub(crate) fn join(mut self) -> anyhow::Result<Vec<anyhow::Result<u64>>> {
        while self.tasks.iter().any(|task| matches!(task, Task::Alive(_))) {
            self.queue.enter(1).context("cannot wait for completions (io_uring_enter)")?;
            while let Some(number) = self.queue.next_ready() {
                self.poll(number);
            }
        }
        let ended = self.tasks.into_iter().filter_map(|task| match task {
            Task::Ended(result) => Some(result),
            Task::Alive(_) => None,
        });
        Ok(ended.collect())
    }

    fn poll(&mut self, number: usize) {
        if let Task::Alive(task) = &mut self.tasks[number]
            && let Poll::Ready(result) = task.as_mut().poll(&mut nobody())
        {
            self.tasks[number] = Task::Ended(result);
        }
    }
}

/// A task's context: nobody wakes it but a completion.
fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

impl Queue {
    /// Number of the next task to poll, which its operations will name.
    fn next_ready(&self) -> Option<usize> {
        let number = self.ready.borrow_mut().pop_front()?;
        self.current.set(number);
        Some(number)
    }

    /// Submits what was begun, waits for so many completions, and makes the tasks ready that wait for one.
    /// If it is to wait for none, it makes room for further submissions. A signal ends the wait early.
    fn enter(&self, want: usize) -> io::Result<()> {
        let mut io = self.io.borrow_mut();
        let entered = io.submit_and_wait(want);
        let mut taken = 0;
        for completion in io.completion() {
            let address = completion.user_data() as usize;
            // SAFETY: `End::begin` has given this reference to the kernel, which completes it once.
            let operation =
                unsafe { Rc::from_raw(ptr::with_exposed_provenance::<Operation>(address)) };
            operation.result.set(Some(completion.result()));
            self.ready.borrow_mut().push_back(operation.task.get());
            taken += 1;
        }
        match entered.map_err(|e| (Errno::from_raw(e.raw_os_error().unwrap_or(0)), e)) {
            Ok(_) | Err((Errno::EINTR, _)) => Ok(()),
            // The completion queue was full, or memory was short.
            Err((Errno::EBUSY | Errno::EAGAIN, _)) if taken > 0 => Ok(()),
            Err((_, e)) => Err(e),
        }
    }
}

impl End {
    /// Reads a token; `None` at the end of file.
    pub(crate) async fn read(&mut self) -> io::Result<Option<u8>> {
        let read = |fd, token| opcode::Read::new(fd, token, 1).build();
        self.transfer(u8::MAX, read).await
    }

    /// Writes a token.
    pub(crate) async fn write(&mut self, token: u8) -> io::Result<()> {
        let write = |fd, token: *mut u8| opcode::Write::new(fd, token, 1).build();
        let written = self.transfer(token, write).await?;
        written.map(drop).ok_or(ErrorKind::WriteZero.into())
    }

    /// Does the operation that `build` describes. Returns the token, or `None` if nothing was transferred.
    async fn transfer(
        &mut self,
        token: u8,
        build: fn(types::Fd, *mut u8) -> squeue::Entry,
    ) -> io::Result<Option<u8>> {
        let operation = &self.operation;
        assert!(operation.result.get().is_some(), "the end's operation is in flight");
        operation.token.set(token);
        self.begin(build)?;
        let count = poll_fn(|_| operation.poll()).await?;
        Ok((count > 0).then(|| operation.token.get()))
    }

    /// Hands the operation over to the kernel at the next wait.
    fn begin(&self, build: fn(types::Fd, *mut u8) -> squeue::Entry) -> io::Result<()> {
        let operation = &self.operation;
        let entry = build(types::Fd(operation.fd.as_raw_fd()), operation.token.as_ptr());
        operation.result.set(None);
        operation.task.set(self.queue.current.get());
        let address = Rc::into_raw(Rc::clone(operation)).expose_provenance();
        let entry = entry.user_data(address as u64);
        // SAFETY: the kernel's reference keeps the descriptor open and the token in its place; nobody
        // touches the token before the completion. If the entry is not taken, the reference is leaked.
        while unsafe { self.queue.io.borrow_mut().submission().push(&entry) }.is_err() {
            self.queue.enter(0)?;
        }
        Ok(())
    }
}

impl Operation {
    /// Number of bytes that it has transferred, once it has completed.
    fn poll(&self) -> Poll<io::Result<usize>> {
        match self.result.get() {
            None => Poll::Pending,
            Some(count @ 0..) => Poll::Ready(Ok(count as usize)),
            Some(errno) => Poll::Ready(Err(io::Error::from_raw_os_error(-errno))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brigade::Transport;

    /// The submission queue has two entries, and the completion queue four.
    #[test]
    fn no_completion_is_lost_if_many_find_no_room() {
        for transport in [Transport::Pipe, Transport::Socketpair] {
            let mut builder = IoUring::builder();
            builder.setup_single_issuer().setup_defer_taskrun().setup_cqsize(4);
            // This system may have no such rings.
            let Ok(io) = builder.build(2) else { return };
            let mut ring = Ring::new(io);
            for _ in 0..100 {
                let (reader, writer) = transport.link(100).unwrap();
                let (mut from, mut to) = (ring.end(reader), ring.end(writer));
                ring.spawn(async move {
                    let mut sum = 0;
                    while let Some(token) = from.read().await? {
                        sum += u64::from(token);
                    }
                    Ok(sum)
                });
                ring.spawn(async move {
                    for k in 1..=50 {
                        to.write(k).await?;
                    }
                    Ok(50 * 51 / 2)
                });
            }
            assert!(ring.join().unwrap().into_iter().all(|sum| sum.unwrap() == 50 * 51 / 2));
        }
    }
}
