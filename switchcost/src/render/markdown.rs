//! Text as Markdown: names and messages from plans and records are never markup.

use crate::system::console::paragraph;

/// One line of text with the characters escaped that begin a table cell, a link, emphasis, code or
/// HTML. An interval such as `[1, 2]` stays as it is.
pub(super) fn escaped(text: &str) -> String {
    let text = paragraph(text);
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '\\' | '|' | '*' | '`' => escaped.extend(['\\', c]),
            '(' if escaped.ends_with(']') => escaped.push_str("\\("),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        for (text, markdown) in [
            ("thread, 2.0x [1.0, 3.0] (noise)", "thread, 2.0x [1.0, 3.0] (noise)"),
            ("a|b\\c <img src=x>", "a\\|b\\\\c &lt;img src=x>"),
            ("[a](javascript:b)", "[a]\\(javascript:b)"),
            ("**a** `b`\n# c", "\\*\\*a\\*\\* \\`b\\`\\\\n# c"),
        ] {
            assert_eq!(escaped(text), markdown);
        }
    }
}
