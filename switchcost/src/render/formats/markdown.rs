//! Markdown: the same as text.

use std::io;

use crate::render::answer;
use crate::render::format::{Format, Found};

pub(super) const FORMAT: Format = Format { name: "markdown", about: "for a README", write };

fn write(found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    match found.answer() {
        Some((answer, _)) => answer::markdown(answer, out),
        None => found.documents().iter().try_for_each(|document| document.markdown(out)),
    }
}
