//! Standard output, standard error, and text that a terminal only shows.

use std::borrow::Cow;
use std::fmt;
use std::io;

pub use contract::BadUsage;
pub use contract::console::{is_command, plain, plain_line};

use crate::system::write;

/// Writes to standard output in one go, as [`plain`] text: figures quote files and other programs. A reader that
/// has gone away is no error; a closed output is one.
pub(crate) fn print(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    contract::console::ensure_stdout()?;
    let text = plain(&String::from_utf8_lossy(&text)).into_owned();
    match write::all(io::stdout(), text.as_bytes()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(io::Error::new(e.kind(), format!("standard output: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes a line to standard error, as [`plain`] text: messages quote files and other programs.
pub(crate) fn say(text: fmt::Arguments<'_>) {
    let text = format!("{}\n", plain(&text.to_string()));
    // If nobody listens, nothing is left to be done.
    let _ = write::all(io::stderr(), text.as_bytes());
}

/// A command line as a POSIX shell reads it back: a word that is not plain stands in single quotes.
pub(crate) fn shell_line<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    words.into_iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// One word of it.
pub(crate) fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

/// Characters of a long line that [`shortened`] keeps, at its front and at its back.
const KEPT: [usize; 2] = [400, 100];

/// A message with the middle of each long line left out: it may quote an argument of any length.
pub(crate) fn shortened(text: &str) -> String {
    text.split('\n').map(shortened_line).collect::<Vec<_>>().join("\n")
}

fn shortened_line(line: &str) -> String {
    let [front, back] = KEPT;
    let length = line.chars().count();
    if length <= front + back {
        return line.to_owned();
    }
    let begin: String = line.chars().take(front).collect();
    let end: String = line.chars().skip(length - back).collect();
    format!("{begin} … {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_command_line_back() {
        let words = ["run", "--filter=a b", "it's", "$HOME", "\"x\"", "", "*", "tokio@1.50.0"];
        let words = words.map(str::to_owned);
        let line = shell_line(&words);
        assert_eq!(line, r#"run '--filter=a b' 'it'\''s' '$HOME' '"x"' '' '*' tokio@1.50.0"#);
        let script = format!("printf '%s\\n' {line}");
        let read = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(read.stdout).unwrap(), words.join("\n") + "\n");
    }

    #[test]
    fn long_lines_lose_their_middle() {
        let short = "a\n\u{436}\n".repeat(1000);
        assert_eq!(shortened(&short), short);
        let long = shortened(&format!("begin {} end\nnext", "ж".repeat(100_000)));
        assert!(long.starts_with("begin жж") && long.ends_with("жж end\nnext"));
        assert!(long.chars().count() < 520, "{long}");
    }
}
