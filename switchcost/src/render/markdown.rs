//! Text as Markdown: names and messages from plans and records are never markup.

use std::borrow::Cow;

/// One line of text with the characters escaped that begin a table cell, a link, emphasis, code or
/// HTML. An interval such as `[1, 2]` stays as it is.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '|', '<', '*', '`', '\n', '\r']) && !text.contains("](") {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '\n' | '\r' => escaped.push(' '),
            '\\' | '|' | '*' | '`' => escaped.extend(['\\', c]),
            '(' if before == ']' => escaped.push_str("\\("),
            _ => escaped.push(c),
        }
        before = c;
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        for (text, markdown) in [
            ("thread, 2.0x [1.0, 3.0] (noise)", "thread, 2.0x [1.0, 3.0] (noise)"),
            ("a|b\\c", "a\\|b\\\\c"),
            ("<img src=x onerror=y>", "&lt;img src=x onerror=y>"),
            ("<!-- switchcost:end -->", "&lt;!-- switchcost:end -->"),
            ("[a](javascript:b)", "[a]\\(javascript:b)"),
            ("**a** `b`\n# c", "\\*\\*a\\*\\* \\`b\\` # c"),
        ] {
            assert_eq!(escaped(text), markdown);
        }
    }
}
