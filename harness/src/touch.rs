//! What a task does at each hop beside passing the token on: nothing, or the use of some memory.

use std::hint::black_box;

use serde::Serialize;

use crate::limits::Demand;
use crate::units::Bytes;

/// The flag for the memory that each task uses at each hop.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct Touch {
    /// Memory that each task reads and writes at each hop, all of its own: one word of each cache
    /// line. What a task has in the caches then competes with what the others have there
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "0", value_parser = size)]
    pub touch: Bytes,
}

fn size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        Bytes(size) if size > 1 << 46 => Err("that is more than the address space".to_owned()),
        size => Ok(size),
    }
}

impl Touch {
    /// Whether there is nothing to touch.
    pub fn is_none(self) -> bool {
        self.lines() == 0
    }

    /// What the working sets of N tasks need of the system.
    pub fn demand(self) -> Demand {
        Demand::allocations(self.lines() * size_of::<Line>() as u64)
    }

    fn lines(self) -> u64 {
        self.touch.0.div_ceil(size_of::<Line>() as u64)
    }
}

/// What a task does between taking a token and handing it on. A program's loop is compiled for each
/// kind by itself: where there is nothing to do, there is neither code nor memory for it.
pub trait Work: Send + 'static {
    /// Made by each task for itself, or by who creates it, before the first iteration.
    fn new(touch: Touch) -> Self;

    /// The work of one hop.
    fn work(&mut self);
}

/// Nothing.
impl Work for () {
    fn new(_: Touch) {}

    #[inline]
    fn work(&mut self) {}
}

/// Memory of a task's own, of which each hop uses all.
#[derive(Debug)]
pub struct WorkingSet(Box<[Line]>);

/// A cache line of x86-64 and of most AArch64 machines; half of one on the others.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line([u64; 8]);

impl Work for WorkingSet {
    fn new(touch: Touch) -> Self {
        // Written, so that it is resident before anything is timed.
        let line = Line([1; 8]);
        WorkingSet(vec![line; touch.lines() as usize].into_boxed_slice())
    }

    #[inline]
    fn work(&mut self) {
        for line in &mut self.0 {
            line.0[0] = line.0[0].wrapping_add(1);
        }
        // Else it could be left out: nobody looks at it.
        black_box(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Need;

    fn touch(bytes: u64) -> Touch {
        Touch {
            touch: Bytes(bytes),
        }
    }

    #[test]
    fn each_hop_writes_to_every_line() {
        for (bytes, lines) in [(1, 1), (64, 1), (65, 2), (4096, 64)] {
            let mut set = WorkingSet::new(touch(bytes));
            assert_eq!(set.0.len(), lines);
            set.work();
            set.work();
            assert!(set.0.iter().all(|line| line.0[0] == 3), "{bytes}");
        }
    }

    #[test]
    fn nothing_to_touch_takes_nothing() {
        assert!(touch(0).is_none());
        assert!(!touch(1).is_none());
        assert_eq!(size_of::<()>(), 0);
        assert_eq!(touch(0).demand().of(1000), Need::NONE);
    }

    #[test]
    fn the_demand_covers_every_set() {
        let need = touch(100).demand().of(1000);
        assert!(need.memory >= 128_000 && need.memory < 256_000);
        assert_eq!(need.maps, 0);
        let need = touch(1 << 20).demand().of(10);
        assert!(need.memory >= 10 << 20);
        assert_eq!(need.maps, 10);
        assert!(size("65T").is_err());
        assert!(size("64TiB").is_ok());
    }
}
