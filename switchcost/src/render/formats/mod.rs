//! Output formats, a file each.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::format::Format;

mod csv;
mod json;
mod markdown;
mod text;

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &[text::FORMAT, markdown::FORMAT, csv::FORMAT, json::FORMAT]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.about))
    }
}
