//! JSON: all that is known, unrounded, as one object and a newline.

use std::io::{self, Write};

use figures::Figures;
use figures::conditions::all_doubts;
use serde_json::{Value, json};

use crate::render::found::Found;
use crate::views::answer::Answer;
use crate::views::tables::curves;

pub(super) fn write(found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    match found {
        Found::Figures { figures, answer, .. } => {
            serde_json::to_writer(&mut *out, &all(figures, *answer))?;
        }
        Found::Machines(all) => serde_json::to_writer(&mut *out, all)?,
        Found::Comparisons([one]) => serde_json::to_writer(&mut *out, one)?,
        Found::Comparisons(several) => serde_json::to_writer(&mut *out, several)?,
    }
    writeln!(out)
}

/// Everything that records say.
fn all(figures: &Figures<'_>, answer: Option<&Answer>) -> Value {
    json!({
        "records": figures.records.len(),
        "doubts": all_doubts(figures),
        "figures": figures.iter().collect::<Vec<_>>(),
        "curves": curves(figures),
        "answer": answer,
    })
}
