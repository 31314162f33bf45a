//! Why a program would not run a command line on this system.

use std::fmt;
use std::mem;

use contract::units::counted;

/// Why a program would not run a command line, by what it says and the limits of this system.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The limits of this system do not allow it.
    TooMuch {
        /// How many tasks they allow.
        largest: u64,
        /// Names of the limits that are too low.
        limits: Vec<String>,
        /// True if memory is among them.
        memory: bool,
    },
    /// The program has no such flag.
    NoFlag(String),
    /// The program does not take the flags for another reason.
    Other(String),
}

impl Refusal {
    /// True if two refusals are of one kind. To a reader they are one then, and the refusal of the smallest number is it:
    /// of limits, it names the one that binds first.
    pub fn alike(&self, other: &Refusal) -> bool {
        mem::discriminant(self) == mem::discriminant(other)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooMuch { largest, limits, .. } => {
                let (largest, limits) = (counted(*largest, "task"), limits.join("; "));
                write!(f, "this system allows at most {largest} ({limits})")
            }
            Refusal::NoFlag(flag) => write!(f, "it has no flag {flag}"),
            Refusal::Other(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}
