//! A cell through which one task hands a value to another.

#![expect(unsafe_code, reason = "a word beside the cell says who may touch the value")]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;

/// Memory for one value between two tasks. It does not know whether a value is there, nor whose turn it
/// is: a word beside it does, which both tasks change. A value that is there when the cell is dropped is
/// not dropped with it.
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

impl<T> fmt::Debug for HandoffCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandoffCell")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn a_value_goes_from_one_thread_to_another() {
        let (cell, is_full) = (HandoffCell::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for k in 0..10_000u32 {
                    while is_full.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                    // SAFETY: the flag tells that it is empty, and this thread alone fills it.
                    unsafe { cell.put(vec![k]) };
                    is_full.store(true, Ordering::Release);
                }
            });
            for k in 0..10_000 {
                while !is_full.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                // SAFETY: the flag tells that it is full, and this thread alone empties it.
                assert_eq!(unsafe { cell.take() }, [k]);
                is_full.store(false, Ordering::Release);
            }
        });
    }
}
