//! Values that belong to one executor, and so to one thread.

use std::cell::Cell;
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// The executor of this thread.
    static HERE: Cell<Option<Home>> = const { Cell::new(None) };
}

/// Number of an executor; none is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home(NonZeroU64);

impl Home {
    pub(super) fn is_here(self) -> bool {
        HERE.get() == Some(self)
    }
}

/// An executor's claim to its thread, which it does not leave.
#[derive(Debug)]
pub(super) struct Claim {
    home: Home,
    stays: PhantomData<Rc<()>>,
}

impl Claim {
    /// # Panics
    /// Where this thread has an executor.
    pub(super) fn new() -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let number = NonZeroU64::new(NUMBERS.fetch_add(1, Ordering::Relaxed));
        let home = Home(number.expect("64 bits do not run out"));
        assert!(HERE.get().is_none(), "a thread has one executor");
        HERE.set(Some(home));
        Claim { home, stays: PhantomData }
    }

    pub(super) fn home(&self) -> Home {
        self.home
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        HERE.set(None);
    }
}

/// A value that only the thread of an executor can use, so that it needs no lock.
#[derive(Debug)]
pub struct Local<T> {
    home: Home,
    value: T,
}

// SAFETY: only one thread uses the value: a claim does not leave its thread, and its number is not given
// again. Another thread may drop the value, so it must be Send.
unsafe impl<T: Send> Sync for Local<T> {}

impl<T> Local<T> {
    /// A value for the executor of this thread.
    ///
    /// # Panics
    /// Where this thread has no executor.
    pub fn new(value: T) -> Self {
        Local { home: HERE.get().expect("this thread has an executor"), value }
    }

    /// The value; `None` on any other thread, or when the executor is gone.
    pub fn get(&self) -> Option<&T> {
        self.home.is_here().then_some(&self.value)
    }
}
