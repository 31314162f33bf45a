//! Memory that a task uses at each hop.

use std::hint::black_box;

use contract::units::Bytes;

/// Memory of a task's own, of which each hop uses all; none, by default.
#[derive(Debug, Default)]
pub struct WorkingSet(Box<[Line]>);

/// A cache line of x86-64 and of most AArch64 machines; half of one on the others.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line([u64; 8]);

impl WorkingSet {
    /// So many bytes, in whole cache lines. They are written, so that they are resident before
    /// anything is timed.
    pub fn new(size: Bytes) -> Self {
        let lines = size.0.div_ceil(size_of::<Line>() as u64);
        WorkingSet(vec![Line([1; 8]); lines as usize].into_boxed_slice())
    }

    /// Work of one hop: one word of each line is read and written.
    #[inline]
    pub fn touch(&mut self) {
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

    #[test]
    fn each_hop_writes_to_every_line() {
        for (bytes, lines) in [(0, 0), (1, 1), (64, 1), (65, 2), (4096, 64)] {
            let mut set = WorkingSet::new(Bytes(bytes));
            assert_eq!(set.0.len(), lines);
            set.touch();
            set.touch();
            assert!(set.0.iter().all(|line| line.0[0] == 3), "{bytes}");
        }
    }
}
