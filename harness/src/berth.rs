//! Room for one value that one task leaves and another one takes.

#![expect(unsafe_code, reason = "who may touch the value is told elsewhere")]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;

/// Room for one value between two tasks, with nothing that tells whether it is there: that, and
/// whose turn it is, belongs to the word beside it that both of them change. A value that is there
/// when this is dropped is not: take it before.
pub struct Berth<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: at any time one task alone gets at the value, as the callers of `put` and `take` promise.
// It goes from one thread to another, which is why it must be Send.
unsafe impl<T: Send> Sync for Berth<T> {}

impl<T> Berth<T> {
    /// Leaves a value.
    ///
    /// # Safety
    /// It is empty, and all that its last taker did happened before. Nobody else uses it until
    /// what the caller does next tells so (a store with release, which the taker loads with
    /// acquire).
    pub unsafe fn put(&self, value: T) {
        // SAFETY: nobody else gets at it meanwhile, by the caller's promise.
        unsafe { (*self.0.get()).write(value) };
    }

    /// Takes the value out.
    ///
    /// # Safety
    /// A value is there, and its putting happened before. Nobody else uses it until what the caller
    /// does next tells so.
    pub unsafe fn take(&self) -> T {
        // SAFETY: it was written, is read once, and nobody else gets at it meanwhile, by the
        // caller's promise.
        unsafe { (*self.0.get()).assume_init_read() }
    }
}

impl<T> Default for Berth<T> {
    fn default() -> Self {
        Berth(UnsafeCell::new(MaybeUninit::uninit()))
    }
}

impl<T> fmt::Debug for Berth<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Berth")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn a_value_goes_from_one_thread_to_another() {
        let (berth, is_full) = (Berth::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for k in 0..10_000u32 {
                    while is_full.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                    // SAFETY: the flag tells that it is empty, and this thread alone fills it.
                    unsafe { berth.put(vec![k]) };
                    is_full.store(true, Ordering::Release);
                }
            });
            for k in 0..10_000 {
                while !is_full.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                // SAFETY: the flag tells that it is full, and this thread alone empties it.
                assert_eq!(unsafe { berth.take() }, [k]);
                is_full.store(false, Ordering::Release);
            }
        });
    }
}
