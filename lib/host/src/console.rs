//! Standard output, standard error and panics.

use std::any::Any;
use std::borrow::Cow;
use std::env;
use std::io::{self, ErrorKind, Write};
use std::panic;
use std::sync::Mutex;

use anyhow::anyhow;

/// Writes to standard output at once.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|e| io::Error::new(e.kind(), format!("standard output: {e}")))
}

/// Writes text for people to standard output; a reader that has gone away is no error.
pub fn show(text: &str) -> io::Result<()> {
    match print(&in_locale(text)) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a line to standard error, as [`plain`] text: messages quote flags and files.
pub fn say(text: &str) {
    // If nobody listens, nothing is left to be done.
    let _ = writeln!(io::stderr(), "{}", in_locale(&plain(text)));
}

/// Text for people in the characters of their locale: in ASCII, if one is set that is not of UTF-8, such as `LC_ALL=C`.
/// Where none is set, as in containers and under cron(8), POSIX has the locale C as well, but nobody has chosen it, and
/// what shows or keeps the text nearly always takes UTF-8.
pub fn in_locale(text: &str) -> Cow<'_, str> {
    let values = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(env::var_os);
    let mut values = values.map(|value| value.to_string_lossy().to_lowercase());
    match values.find(|value| !value.is_empty()) {
        Some(locale) if !locale.contains("utf-8") && !locale.contains("utf8") => {
            Cow::Owned(in_ascii(text))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Text with the signs that it has in ASCII, and a question mark for what has none.
fn in_ascii(text: &str) -> String {
    let signs = [
        ('µ', "u"),
        ('÷', "/"),
        ('×', "x"),
        ('±', "+-"),
        ('─', "-"),
        ('–', "-"),
        ('·', "."),
        ('…', "..."),
        ('→', "->"),
        ('²', "2"),
        ('∞', "inf"),
    ];
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        match signs.iter().find(|(sign, _)| *sign == c) {
            Some((_, sign)) => ascii.push_str(sign),
            None => ascii.push(if c.is_ascii() { c } else { '?' }),
        }
    }
    ascii
}

/// The text with every character that would move, colour or hide something written as JSON writes it in a
/// string, such as `\u001b`: JSON stays JSON, and means the same. Newlines and tabs stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_command(c) && !matches!(c, '\n' | '\t'))
}

/// The same for what must stay on one line: newlines and tabs are escaped, too.
pub fn plain_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_command)
}

/// True if a terminal obeys a character instead of showing it: the control characters of ASCII and ISO 6429 (C1), and
/// the Unicode characters that change the direction of text. U+FFFE and U+FFFF are no characters; XML forbids them.
pub fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

fn escaped(text: &str, is_unwanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unwanted) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !is_unwanted(c) => plain.push(c),
            '\n' => plain.push_str("\\n"),
            '\t' => plain.push_str("\\t"),
            c => plain.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    Cow::Owned(plain)
}

/// First panic of the process, with its place: later ones mostly follow from it.
static FIRST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics from standard error: they become the error of the run.
pub fn catch_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or(String::new(), |l| format!(" at {l}"));
        let text = format!("{} (a panic{place})", payload_text(info.payload()));
        if let Ok(mut first) = FIRST_PANIC.lock() {
            first.get_or_insert(text);
        }
    }));
}

/// Cause of death of a thread or a task, from what its join returned.
pub fn panic_error(payload: &(dyn Any + Send)) -> anyhow::Error {
    let first = FIRST_PANIC.lock().ok().and_then(|first| first.clone());
    anyhow!("{}", first.unwrap_or_else(|| payload_text(payload)))
}

fn payload_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_a_terminal_obeys_are_escaped() {
        for (text, shown, line) in [
            ("÷ 2 µs", "÷ 2 µs", "÷ 2 µs"),
            ("a\x1b[2J\tb\n", "a\\u001b[2J\tb\n", "a\\u001b[2J\\tb\\n"),
            ("\u{202e}x\u{9b}", "\\u202ex\\u009b", "\\u202ex\\u009b"),
        ] {
            assert_eq!((&*plain(text), &*plain_line(text)), (shown, line));
        }
        assert_eq!(in_ascii("÷ 2 µs ± 5 … é\n"), "/ 2 us +- 5 ... ?\n");
    }
}
