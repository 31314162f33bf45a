//! Text that a terminal only shows: names and messages come from plans, records and files of the
//! system, and an escape sequence in one of them could do more than be read.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with every character that would move, colour or hide something written as Rust writes
/// it in a literal, such as `\u{1b}`. Newlines and tabs stay.
///
/// ```
/// use harness::plain::plain;
/// assert_eq!(plain("1.5µs\n"), "1.5µs\n");
/// assert_eq!(plain("\x1b[2J"), "\\u{1b}[2J");
/// ```
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_command(c) && !matches!(c, '\n' | '\t'))
}

/// The same for what must stay on one line: newlines and tabs are written as they are typed, too.
pub fn plain_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_command)
}

/// Whether a terminal obeys a character instead of showing it: the control characters of ASCII and
/// of ISO 6429 (C1), and those of Unicode that turn the direction of what follows.
pub fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_unwanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unwanted) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unwanted(c) {
            true => write!(plain, "{}", c.escape_default()).unwrap_or_default(),
            false => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        for (text, shown) in [
            ("thread over pipes, ÷ 2", "thread over pipes, ÷ 2"),
            ("a\nb\tc", "a\nb\tc"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("a\rb\u{8}", "a\\rb\\u{8}"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("\u{202e}abc", "\\u{202e}abc"),
        ] {
            assert_eq!(plain(text), shown);
        }
        assert_eq!(plain_line("a\nb\tc"), "a\\nb\\tc");
    }
}
