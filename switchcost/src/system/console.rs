//! Standard output, standard error, and text that a terminal only shows.

use std::borrow::Cow;
use std::fmt;
use std::io;

pub use contract::BadUsage;
pub use host::console::{in_locale, is_command, plain, plain_line};

use crate::system::write;

/// Writes to standard output in one go, as [`plain`] text: figures quote files and other programs. A reader that
/// has gone away is no error; a closed output is one.
pub(crate) fn print(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    let text = plain(&String::from_utf8_lossy(&text)).into_owned();
    match write::whole(io::stdout(), text.as_bytes()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(io::Error::new(e.kind(), format!("standard output: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// The same for people: in the characters of their locale.
pub(crate) fn show(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    print(|out| {
        write(out)?;
        *out = in_locale(&String::from_utf8_lossy(out)).into_owned().into_bytes();
        Ok(())
    })
}

/// Writes a line to standard error, as [`plain_line`] text: messages quote files and other programs, at any length.
pub(crate) fn say(text: fmt::Arguments<'_>) {
    let text = format!("{}\n", in_locale(&shortened(&text.to_string())));
    // If nobody listens, nothing is left to be done.
    let _ = write::whole(io::stderr(), text.as_bytes());
}

/// A command line as a POSIX shell reads it back: a word that is not plain stands in single quotes.
pub(crate) fn shell_line<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    words.into_iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// One word of it.
pub(crate) fn shell_word(word: &str) -> Cow<'_, str> {
    let mut chars = word.chars();
    if !word.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c)) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

/// Most characters of a name of a plan.
pub(crate) const NAME: usize = 200;

/// Most characters of a message.
const MESSAGE: usize = 500;

/// A message, a name or a value as people read it, on one line. It may quote a text of any length: if it has too many
/// characters, its middle is left out.
pub(crate) fn shortened(message: &str) -> String {
    const GAP: &str = " … ";
    let text = plain_line(message);
    let length = text.chars().count();
    if length <= MESSAGE {
        return text.into_owned();
    }
    let back = MESSAGE / 5;
    let front = text.chars().take(MESSAGE - back - GAP.chars().count());
    front.chain(GAP.chars()).chain(text.chars().skip(length - back)).collect()
}
