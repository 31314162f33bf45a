//! What a published file of records holds, in full: every text, and the fields of its numbers.

use std::io::{self, Write};

use contract::units::counted;

use crate::figures::number::short;
use crate::system::console::plain_line;
use crate::views::published::Published;
use facts::Quantity;

/// Writes what `records` holds and what was left out.
pub(crate) fn text(records: &Published, out: &mut impl Write) -> io::Result<()> {
    let (count, size) = (records.processes, records.text.len() as f64);
    let size = short(Quantity::Bytes, size);
    writeln!(out, "One run of {}, {size}. It holds these texts:", counted(count, "process"))?;
    for (field, texts) in &records.texts {
        // Flags of programs have numbers behind them.
        let is_word =
            |text: &&String| field != "args" || !text.starts_with(|c: char| c.is_ascii_digit());
        let words: Vec<_> = texts.iter().filter(is_word).map(|text| plain_line(text)).collect();
        writeln!(out, "  {field}: {}", words.join(" | "))?;
    }
    let numbers: Vec<&str> = records.numbers.iter().map(String::as_str).collect();
    writeln!(out, "It holds these numbers: {}.", numbers.join(", "))?;
    let left_out: Vec<&str> = records.left_out.iter().map(String::as_str).collect();
    if left_out.is_empty() {
        writeln!(out, "Nothing in the records is private.")
    } else {
        writeln!(out, "These fields were left out as private: {}.", left_out.join(", "))
    }
}
