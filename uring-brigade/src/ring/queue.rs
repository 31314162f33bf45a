//! The two queues that the kernel shares with the program: submissions and completions.

#![expect(unsafe_code, reason = "the kernel is given memory to read and write")]

use std::cell::{Cell, RefCell};
use std::io;
use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use nix::errno::Errno;

use super::Token;

/// The ring.
pub(super) struct Queue<T> {
    io: RefCell<IoUring>,
    operations: PhantomData<Operation<T>>,
}

/// The operation of an end of a link. While it is in flight the kernel holds a reference to it: whatever
/// becomes of the end or of the ring, the token that the kernel reads or writes stays where it is until
/// the last completion; where that never comes, it is never freed.
#[derive(Default)]
pub(super) struct Operation<T> {
    token: Cell<T>,
    in_flight: Cell<bool>,
    /// Its result: a number of bytes, or a negative errno.
    result: Cell<Option<i32>>,
    waker: Cell<Option<Waker>>,
}

impl<T: Token> Queue<T> {
    pub(super) fn new(io: IoUring) -> Self {
        Queue { io: RefCell::new(io), operations: PhantomData }
    }

    /// Submits what was begun, waits for a completion, and wakes the tasks that wait for one. A signal
    /// ends the wait early.
    ///
    /// # Errors
    /// What io_uring_enter(2) reports.
    pub(super) fn wait(&self) -> io::Result<()> {
        let entered = {
            let mut io = self.io.borrow_mut();
            match is_polled(&io) && !io.completion().is_empty() {
                // The kernel's thread was quicker.
                true => Ok(0),
                false => io.submitter().submit_and_wait(1),
            }
        };
        self.settle(entered)
    }

    /// Submits what was begun without a wait for completions, so that there is room for more.
    fn make_room(&self) -> io::Result<()> {
        let entered = {
            let io = self.io.borrow();
            match is_polled(&io) {
                true => {
                    let flags = EnterFlags::SQ_WAKEUP | EnterFlags::SQ_WAIT;
                    // SAFETY: the flags point to nothing.
                    unsafe { io.submitter().enter::<libc::sigset_t>(0, 0, flags.bits(), None) }
                }
                false => io.submitter().submit(),
            }
        };
        self.settle(entered)
    }

    /// Takes the completions. No errors are a signal, and, where completions were taken now, a full
    /// completion queue (EBUSY) and a shortage of memory (EAGAIN).
    fn settle(&self, entered: io::Result<usize>) -> io::Result<()> {
        let taken = self.take_completions();
        match entered {
            Ok(_) => Ok(()),
            Err(e) => match Errno::from_raw(e.raw_os_error().unwrap_or(0)) {
                Errno::EINTR => Ok(()),
                Errno::EBUSY | Errno::EAGAIN if taken > 0 => Ok(()),
                _ => Err(e),
            },
        }
    }

    fn take_completions(&self) -> u64 {
        let mut taken = 0;
        for completion in self.io.borrow_mut().completion() {
            taken += 1;
            self.complete(&completion);
        }
        taken
    }

    fn complete(&self, completion: &cqueue::Entry) {
        let operation =
            ptr::with_exposed_provenance::<Operation<T>>(completion.user_data() as usize);
        if operation.is_null() {
            return;
        }
        // SAFETY: `begin` has given this reference to the kernel, which completes an operation once.
        let operation = unsafe { Rc::from_raw(operation) };
        operation.in_flight.set(false);
        operation.result.set(Some(completion.result()));
        if let Some(waker) = operation.waker.take() {
            waker.wake_by_ref();
            operation.waker.set(Some(waker));
        }
    }

    /// Hands an operation over to the kernel, as `entry` describes it, at the next wait.
    ///
    /// # Safety
    /// The entry must be for a descriptor that is open until [`Queue::cancel`] is called or the
    /// operation has ended, and may point to nothing but the bytes of the operation's token.
    ///
    /// # Errors
    /// Where the queue is full, and the kernel does not take what is in it.
    pub(super) unsafe fn begin(
        &self,
        operation: &Rc<Operation<T>>,
        entry: squeue::Entry,
    ) -> io::Result<()> {
        let share = Rc::into_raw(Rc::clone(operation));
        let entry = entry.user_data(share.expose_provenance() as u64);
        // SAFETY: the caller's promise, and the kernel's reference keeps the token alive.
        let pushed = unsafe { self.push(&entry) };
        match pushed {
            Ok(()) => operation.in_flight.set(true),
            // SAFETY: the kernel knows nothing of the reference.
            Err(_) => drop(unsafe { Rc::from_raw(share) }),
        }
        pushed
    }

    /// Ends an operation early, which else keeps its file open. When this returns, no submission that the
    /// kernel has not taken names the descriptor.
    ///
    /// # Errors
    /// As [`Queue::begin`].
    pub(super) fn cancel(&self, operation: &Rc<Operation<T>>) -> io::Result<()> {
        if !operation.in_flight.get() {
            return Ok(());
        }
        let name = Rc::as_ptr(operation).expose_provenance() as u64;
        let entry = opcode::AsyncCancel::new(name).build().user_data(0);
        // SAFETY: it points to nothing.
        unsafe { self.push(&entry) }?;
        while !self.io.borrow_mut().submission().is_empty() {
            self.make_room()?;
        }
        Ok(())
    }

    /// # Safety
    /// As [`squeue::SubmissionQueue::push`].
    unsafe fn push(&self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: the caller's promise.
            let pushed = unsafe { self.io.borrow_mut().submission().push(entry) };
            match pushed {
                Ok(()) => return Ok(()),
                Err(_) => self.make_room()?,
            }
        }
    }
}

/// Whether a thread of the kernel takes the submissions.
fn is_polled(io: &IoUring) -> bool {
    io.params().is_setup_sqpoll()
}

impl<T: Token> Operation<T> {
    /// Address and number of the token's bytes.
    ///
    /// # Panics
    /// While the operation is in flight.
    pub(super) fn bytes(&self) -> (*mut u8, usize) {
        self.check_idle();
        // SAFETY: the kernel has no part in it now, nobody else has a reference to what is in the
        // cell, and this one ends here. Its bytes lie in the operation or in the heap, and stay
        // there as long as nobody takes the token out.
        let bytes = unsafe { &mut *self.token.as_ptr() }.bytes();
        (bytes.as_mut_ptr(), bytes.len())
    }

    /// The token, which leaves an empty one.
    ///
    /// # Panics
    /// While the operation is in flight.
    pub(super) fn take(&self) -> T {
        self.check_idle();
        self.token.take()
    }

    /// # Panics
    /// While the operation is in flight.
    pub(super) fn put(&self, token: T) {
        self.check_idle();
        self.token.set(token);
    }

    fn check_idle(&self) {
        assert!(!self.in_flight.get(), "the operation is in flight");
    }

    /// Whether it is not in flight and its result was taken.
    pub(super) fn is_idle(&self) -> bool {
        !self.in_flight.get() && self.result.get().is_none()
    }

    /// Its result, once it has ended.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match self.result.take() {
            Some(result @ 0..) => Poll::Ready(Ok(result as usize)),
            Some(errno) => Poll::Ready(Err(io::Error::from_raw_os_error(-errno))),
            None => {
                let waker = self.waker.take().filter(|waker| waker.will_wake(cx.waker()));
                let waker = waker.unwrap_or_else(|| cx.waker().clone());
                self.waker.set(Some(waker));
                Poll::Pending
            }
        }
    }
}
