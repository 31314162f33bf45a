//! A program with flags, as one subject.

use std::fmt;
use std::str::FromStr;

/// A program and the flags that tell it from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The program.
    pub program: String,
    /// Its own flags.
    pub flags: Vec<String>,
}

impl FromStr for Subject {
    type Err = String;

    /// A program's name, or its name and flags separated by white space.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = words.next().ok_or("it names no program")?;
        Ok(Subject { program, flags: words.collect() })
    }
}

impl fmt::Display for Subject {
    /// As it was written, with single spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.flags.iter().try_for_each(|flag| write!(f, " {flag}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_flags_of_its_own() {
        let subject: Subject = " thread-brigade  --stack-size 64KiB ".parse().unwrap();
        assert_eq!(subject.program, "thread-brigade");
        assert_eq!(subject.flags, ["--stack-size", "64KiB"]);
        assert_eq!(subject.to_string(), "thread-brigade --stack-size 64KiB");
        assert!(" ".parse::<Subject>().is_err());
    }
}
