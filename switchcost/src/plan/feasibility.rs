//! Whether a program could run a command line on this system.

use std::mem;

use contract::message::Description;
use contract::units::counted;

/// Feasibility of a command line, by what its program says and the limits of this system.
#[derive(Clone, Debug, PartialEq)]
pub enum Feasibility {
    /// The limits of this system allow it.
    Fits(Box<Description>),
    /// They do not.
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
    Refused(String),
}

impl Feasibility {
    /// True if two answers are of one kind. To a reader they are one then, and the answer for the
    /// smallest number is it: of limits, it names the one that binds first.
    pub fn alike(&self, other: &Feasibility) -> bool {
        mem::discriminant(self) == mem::discriminant(other)
    }

    /// Why the command line would not run, in a line; `None` if it would.
    pub fn reason(&self) -> Option<String> {
        match self {
            Feasibility::Fits(_) => None,
            Feasibility::TooMuch { largest, limits, .. } => {
                let limits = limits.join("; ");
                let largest = counted(*largest, "task");
                Some(format!("this system allows at most {largest} ({limits})"))
            }
            Feasibility::NoFlag(flag) => Some(format!("it has no flag {flag}")),
            Feasibility::Refused(reason) => Some(reason.clone()),
        }
    }
}
