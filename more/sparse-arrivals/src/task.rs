//! The short task.

use std::hint::black_box;
use std::sync::mpsc::Sender;
use std::time::Instant;

/// A short task, and where it tells its times.
#[derive(Clone)]
pub(crate) struct ShortTask {
    /// Multiplications.
    pub(crate) work: u32,
    pub(crate) tell: Sender<Times>,
}

/// Times of a short task, and what it computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) product: u64,
}

impl ShortTask {
    pub(crate) fn run(&self) {
        let started = Instant::now();
        let product = multiply(self.work);
        let times = Times { started, ended: Instant::now(), product };
        // Nobody waits for it when the run is over. The main thread, which looks for it, is not woken by it.
        let _ = self.tell.send(times);
    }
}

/// Multiplies so many times. No compiler finds a shorter way to the same number.
pub(crate) fn multiply(times: u32) -> u64 {
    (0..times).fold(black_box(3), |x: u64, _| x.wrapping_mul(x).wrapping_add(5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_takes_each_multiplication() {
        // 3² + 5 = 14, 14² + 5 = 201.
        assert_eq!([0, 1, 2].map(multiply), [3, 14, 201]);
    }
}
