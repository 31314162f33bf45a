//! The price of crossing from one CPU to another.

use serde::{Deserialize, Serialize};

/// Round trip of a cache line between two CPUs, in ns. On a virtual machine it changes within
/// seconds, as the host moves virtual CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheLine {
    /// First two CPUs that the run may use.
    pub cpus: [u32; 2],
    /// Before the program started; absent where it could not be measured.
    pub before: Option<f64>,
    /// After the program ended.
    pub after: Option<f64>,
}

impl CacheLine {
    /// Slower of the two measurements divided by the faster.
    pub fn ratio(&self) -> Option<f64> {
        let (before, after) = self.before.zip(self.after)?;
        Some(before.max(after) / before.min(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_at_least_one() {
        let line = |before, after| CacheLine { cpus: [0, 1], before, after };
        assert_eq!(line(Some(50.0), Some(150.0)).ratio(), Some(3.0));
        assert_eq!(line(Some(150.0), Some(50.0)).ratio(), Some(3.0));
        assert_eq!(line(None, Some(50.0)).ratio(), None);
    }
}
