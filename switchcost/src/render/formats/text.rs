//! Text for a terminal.

use std::io::{self, Write};

use crate::render::answer;
use crate::render::format::{Format, Found};
use crate::render::layout::width;

pub(super) const FORMAT: Format = Format { name: "text", about: "for a terminal", write };

fn write(found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    if let Some((answer, more)) = found.answer() {
        return answer::text(answer, more, width(), out);
    }
    for (index, document) in found.documents().iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        document.text(width(), out)?;
    }
    Ok(())
}
