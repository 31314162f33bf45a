//! Text as HTML: nothing that comes from a record is ever markup.

use std::fmt;

use crate::console::plain;

/// Text with every character escaped that means something in HTML.
pub(in crate::render) struct Escaped<'a>(pub(in crate::render) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A page has no use for them either: HTML forbids most, even as references.
        let text = plain(self.0);
        let mut rest = &*text;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}

/// A figure, its interval set apart: on a phone it goes below.
pub(in crate::render) struct Figure<'a>(pub(in crate::render) &'a str);

impl fmt::Display for Figure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.0.split_once(" [").and_then(|(value, rest)| {
            let (interval, rest) = rest.split_once(']')?;
            Some((value, interval, rest))
        });
        match parts {
            Some((value, interval, rest)) => write!(
                f,
                "{} <span class=\"ci\">[{}]</span>{}",
                Escaped(value),
                Escaped(interval),
                Escaped(rest)
            ),
            None => Escaped(self.0).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_stays_text() {
        let hostile = "<img src=x onerror='a(\"b\")'>&amp;é\0";
        assert_eq!(
            Escaped(hostile).to_string(),
            "&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp;amp;é\\u{0}"
        );
        assert_eq!(
            Figure("1<s [0, 2], 3 failed").to_string(),
            "1&lt;s <span class=\"ci\">[0, 2]</span>, 3 failed"
        );
    }
}
