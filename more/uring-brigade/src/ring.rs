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
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::ptr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use anyhow::Context as _;
use contract::console;
use io_uring::{IoUring, opcode, squeue, types};
use nix::errno::Errno;

/// A spawned task: its result, once it has ended. A panic is an error.
pub(crate) type Task<T> = Rc<Cell<Option<anyhow::Result<T>>>>;

type Body = Pin<Box<dyn Future<Output = ()>>>;

/// The executor.
pub(crate) struct Ring {
    queue: Rc<Queue>,
    /// Tasks by their numbers; one that has ended leaves a gap.
    tasks: RefCell<Vec<Option<Body>>>,
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
    /// Number of the task that waits for it.
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
        Ring { queue: Rc::new(queue), tasks: RefCell::default() }
    }

    /// End of a link with this blocking descriptor.
    pub(crate) fn end(&self, fd: OwnedFd) -> End {
        let (token, result, task) = (Cell::new(u8::MAX), Cell::new(Some(0)), Cell::new(0));
        let operation = Rc::new(Operation { fd, token, result, task });
        End { queue: Rc::clone(&self.queue), operation }
    }

    /// Starts a task.
    pub(crate) fn spawn<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Task<T> {
        let task = Task::default();
        let result = Rc::clone(&task);
        let body = async move {
            let mut future = pin!(future);
            let caught =
                poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
                    Ok(poll) => poll.map(Ok),
                    Err(panic) => Poll::Ready(Err(console::panic_error(&*panic))),
                });
            result.set(Some(caught.await));
        };
        let mut tasks = self.tasks.borrow_mut();
        self.queue.ready.borrow_mut().push_back(tasks.len());
        tasks.push(Some(Box::pin(body)));
        task
    }

    /// Runs tasks that are ready.
    pub(crate) fn run_ready(&self) {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let Some(number) = self.queue.ready.borrow_mut().pop_front() else { return };
            let Some(mut task) = self.tasks.borrow_mut()[number].take() else { continue };
            self.queue.current.set(number);
            if task.as_mut().poll(&mut context).is_pending() {
                self.tasks.borrow_mut()[number] = Some(task);
            }
        }
    }

    /// Runs tasks until this one has ended; one that panicked is an error.
    pub(crate) fn join<T: 'static>(&self, task: Task<T>) -> anyhow::Result<T> {
        loop {
            self.run_ready();
            if let Some(result) = task.take() {
                return result;
            }
            self.queue.enter(1).context("cannot wait for completions (io_uring_enter)")?;
        }
    }
}

impl Queue {
    /// Submits what was begun, waits for so many completions, and makes the tasks ready that wait for one.
    /// If it is to wait for none, it makes room for further submissions. A signal ends the wait early.
    fn enter(&self, want: usize) -> io::Result<()> {
        let mut io = self.io.borrow_mut();
        let is_polled = io.params().is_setup_sqpoll();
        let mut entered = Ok(0);
        // Else the kernel's thread was quicker.
        if want == 0 || !is_polled || io.completion().is_empty() {
            entered = io.submit_and_wait(want);
        }
        if want == 0 && is_polled {
            entered = entered.and_then(|_| io.submitter().squeue_wait());
        }
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
    use crate::setup::poller;
    use brigade::Transport;

    /// Runs a test on each kind of ring that this system has, with a submission queue of two entries
    /// and a completion queue of four.
    fn on_small_rings(test: impl Fn(&Ring, Transport)) {
        for transport in [Transport::Pipe, Transport::Socketpair] {
            for is_polled in [false, true] {
                let mut builder = IoUring::builder();
                if is_polled {
                    builder.setup_sqpoll(10).setup_sqpoll_cpu(poller().unwrap().0);
                } else {
                    builder.setup_single_issuer().setup_defer_taskrun();
                }
                if let Ok(io) = builder.setup_cqsize(4).build(2) {
                    test(&Ring::new(io), transport);
                }
            }
        }
    }

    #[test]
    fn no_completion_is_lost_if_many_find_no_room() {
        on_small_rings(|ring, transport| {
            let mut tasks = Vec::new();
            for _ in 0..100 {
                let (reader, writer) = transport.link(100).unwrap();
                let (mut from, mut to) = (ring.end(reader), ring.end(writer));
                tasks.push(ring.spawn(async move {
                    let mut sum = 0;
                    while let Some(token) = from.read().await.unwrap() {
                        sum += u32::from(token);
                    }
                    sum
                }));
                ring.spawn(async move {
                    for k in 1..=50 {
                        to.write(k).await.unwrap();
                    }
                });
            }
            assert!(tasks.into_iter().all(|task| ring.join(task).unwrap() == 50 * 51 / 2));
        });
    }
}
