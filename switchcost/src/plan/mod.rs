//! What to measure: plans, their rows, the sides of a duel, and the programs.

mod built_in;
pub mod change;
mod check;
pub mod command;
pub mod contents;
mod flag_values;
pub mod lineup;
pub mod placement;
pub mod programs;
pub mod range;
pub mod refusal;
mod section;
mod sections;
pub mod side;
pub mod sweep;
mod table;
mod tree;
pub mod values;

pub use built_in::{BUILT_IN, BuiltIn};
pub(crate) use check::ensure_no_runner_flags;
pub use flag_values::FlagValues;
pub use section::{COUNTS_OF_A_SLOPE, RowTable, Section};
pub use sections::Plan;
pub use table::{ProgramTable, built_in_tables};
