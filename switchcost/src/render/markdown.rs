//! Text as Markdown: names and messages from plans and records are never markup.

/// One line of text with the characters escaped that begin a table cell, a link, emphasis, code, HTML, or a block. An
/// interval such as `[1, 2]` stays as it is.
pub(super) fn escaped(text: &str) -> String {
    let text = text.trim();
    let mut escaped = String::with_capacity(text.len());
    let block = block(text);
    let mut last = ' ';
    for (place, c) in text.char_indices() {
        let next = text[place + c.len_utf8()..].chars().next().unwrap_or(' ');
        let is_emphasis = match c {
            '_' => !(last.is_alphanumeric() && next.is_alphanumeric()),
            '~' => last == '~' || next == '~',
            _ => false,
        };
        if is_emphasis || block == Some(place) {
            escaped.push('\\');
        }
        match c {
            '<' => escaped.push_str("&lt;"),
            '\\' | '|' | '*' | '`' => escaped.extend(['\\', c]),
            '(' if last == ']' => escaped.push_str("\\("),
            _ => escaped.push(c),
        }
        last = c;
    }
    escaped
}

/// Place of the character by which a line begins a heading, an item of a list, a quotation or the target of a link.
fn block(text: &str) -> Option<usize> {
    let marker = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if ["- ", "+ ", ". ", ") "].iter().any(|mark| marker.starts_with(mark)) {
        return Some(text.len() - marker.len());
    }
    let is_target = text.starts_with('[') && text.contains("]:");
    (is_target || text.starts_with(['#', '>', '='])).then_some(0)
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
            ("**a** `b`", "\\*\\*a\\*\\* \\`b\\`"),
            ("_a_ b_c ~1 ~~d~~", "\\_a\\_ b_c ~1 \\~\\~d\\~\\~"),
            ("  # a", "\\# a"),
            ("- a", "\\- a"),
            ("-", "-"),
            ("12. a", "12\\. a"),
            ("1.2 µs", "1.2 µs"),
            ("[a]: b", "\\[a]: b"),
        ] {
            assert_eq!(escaped(text), markdown);
        }
    }
}
