//! A cell through which one task hands a value to another.

#![expect(unsafe_code, reason = "a word beside the cell says who may touch the value")]

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// Memory for one value between two tasks. A word beside it, which both tasks change, says whether a value is
/// there and whose turn it is. A value that is there when the cell is dropped is not dropped with it.
#[derive(Debug)]
pub struct HandoffCell<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: one task at a time uses the value, as the callers of `put` and `take` promise. It goes from one
// thread to another, so it must be Send.
unsafe impl<T: Send> Sync for HandoffCell<T> {}

impl<T> HandoffCell<T> {
    /// Puts a value in.
    ///
    /// # Safety
    /// The cell is empty, and all that its last taker did happened before. Nobody else uses it until the
    /// caller says so (a store with release, which the taker loads with acquire).
    pub unsafe fn put(&self, value: T) {
        // SAFETY: nobody else uses it meanwhile, as the caller promises.
        unsafe { (*self.0.get()).write(value) };
    }

    /// Takes the value out.
    ///
    /// # Safety
    /// A value is there, and its `put` happened before. Nobody else uses the cell until the caller says
    /// so.
    pub unsafe fn take(&self) -> T {
        // SAFETY: it was written and is read once, and nobody else uses it meanwhile, as the caller
        // promises.
        unsafe { (*self.0.get()).assume_init_read() }
    }
}

impl<T> Default for HandoffCell<T> {
    fn default() -> Self {
        HandoffCell(UnsafeCell::new(MaybeUninit::uninit()))
    }
}
