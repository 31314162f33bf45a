//! Why a program would not run a command line on this system.

use std::fmt;
use std::mem;

use host::units::counted;

/// Why a program would not run a command line, by what it says and the limits of this system.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The limits of this system do not allow it.
    TooMuch {
        /// How many tasks they allow.
        largest: u64,
        /// The limit that binds first.
        limit: String,
        /// True if it is one of memory.
        memory: bool,
    },
    /// The program has no such flag.
    NoFlag(String),
    /// What the program prints is no description: it does not follow the contract.
    NoDescription(String),
    /// The program does not take the flags for another reason.
    Other(String),
}

impl Refusal {
    /// True if two refusals are of one kind, and one of them is enough for a reader.
    pub fn alike(&self, other: &Refusal) -> bool {
        mem::discriminant(self) == mem::discriminant(other)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooMuch { largest, limit, .. } => {
                write!(f, "this system allows at most {} ({limit})", counted(*largest, "task"))
            }
            Refusal::NoFlag(flag) => write!(f, "it has no flag {flag}"),
            Refusal::NoDescription(reason) | Refusal::Other(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}
