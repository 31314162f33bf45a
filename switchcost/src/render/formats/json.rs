//! JSON: all that is known, unrounded, as one object and a newline.

use std::io::{self, Write};

use figures::conditions::all_doubts;
use figures::{Figure, Figures};
use serde_json::{Value, json};

use crate::render::found::Found;
use crate::views::answer::Answer;
use crate::views::tables::Tables;

pub(super) fn write(found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    match found {
        Found::Figures { figures, answer, .. } => {
            serde_json::to_writer(&mut *out, &all(figures, *answer))?;
        }
        Found::Fleet(fleet) => serde_json::to_writer(&mut *out, fleet)?,
        Found::Comparisons([one]) => serde_json::to_writer(&mut *out, one)?,
        Found::Comparisons(several) => serde_json::to_writer(&mut *out, several)?,
    }
    writeln!(out)
}

/// Everything that records say.
fn all(figures: &Figures<'_>, answer: Option<&Answer>) -> Value {
    let each: Vec<Value> = figures.iter().map(|figure| with_noise(figures, figure)).collect();
    json!({
        "records": figures.records.len(),
        "doubts": all_doubts(figures),
        "figures": each,
        "curves": Tables::of(figures).curves,
        "answer": answer,
    })
}

/// A figure, and how far it is from its twin.
pub(super) fn with_noise(figures: &Figures<'_>, figure: &Figure<'_>) -> Value {
    let mut value = json!(figure);
    if figure.reading().is_some() {
        value["noise"] = json!(figures.noise(figure));
    }
    value
}
