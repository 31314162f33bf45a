//! What a verb prints.

use ::figures::Figures;

use super::document::Document;
use super::{figures, fleet, verdicts};
use crate::views::answer::Answer;
use crate::views::comparison::Comparison;
use crate::views::fleet::Machine;

/// What a verb prints.
pub enum Found<'a> {
    Figures {
        figures: &'a Figures<'a>,
        /// Their answer; `None` if they are of a plan of tables alone.
        answer: Option<&'a Answer>,
        /// True if people see all tables, and not the answer alone.
        full: bool,
        /// The command that prints all tables, if it can be typed.
        more: Option<String>,
    },
    Machines(&'a [Machine<'a>]),
    /// Duels, or two files.
    Comparisons(&'a [Comparison]),
}

impl Found<'_> {
    /// The answer, if people see it alone, with the command that prints more.
    pub(super) fn answer(&self) -> Option<(&Answer, Option<&str>)> {
        match self {
            Found::Figures { answer: Some(answer), full: false, more, .. } => {
                Some((answer, more.as_deref()))
            }
            _ => None,
        }
    }

    /// All tables, with sentences around them.
    pub(super) fn documents(&self) -> Vec<Document> {
        match self {
            Found::Figures { figures, .. } => vec![figures::document(figures)],
            Found::Machines(all) => vec![fleet::document(all)],
            Found::Comparisons(all) => all.iter().map(verdicts::document).collect(),
        }
    }
}
