//! What a server may do that it should not, for tests: the hidden flag, and the deed.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::task::Poll;

use nix::sys::signal::{Signal, raise};
use serde::{Serialize, Serializer};

/// The hidden flag. It is in the record: nobody takes such a run for a real one.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub(crate) struct TestServer {
    /// Have the server cut body N short half-way (cut), end it early as if that was all (short),
    /// send other bytes (wrong), send nothing any more (stall), or be killed over it (die), for a test.
    /// Bodies are numbered from 0 on, those of the warm-ups first
    #[arg(long, value_name = "DEED@N", hide = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_server: Option<Misdeed>,
}

/// Which body something happens to, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Misdeed {
    kind: Kind,
    number: u64,
}

/// What happens to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its connection is closed half-way.
    Cut,
    /// It is ended half-way, as if all was well.
    Short,
    /// Its largest byte is not there.
    Wrong,
    /// Half-way, nothing comes any more.
    Stall,
    /// Half-way, the server's process is killed.
    Die,
}

impl Misdeed {
    /// What happens to body `number`, if anything does.
    pub(crate) fn at(self, number: u64) -> Option<Kind> {
        (self.number == number).then_some(self.kind)
    }

    /// Whether it is the end of the server's process.
    pub(crate) fn is_deadly(self) -> bool {
        self.kind == Kind::Die
    }
}

impl Kind {
    const NAMES: [(&'static str, Kind); 5] = [
        ("cut", Kind::Cut),
        ("short", Kind::Short),
        ("wrong", Kind::Wrong),
        ("stall", Kind::Stall),
        ("die", Kind::Die),
    ];

    /// What comes in the place of the next piece, half-way through a body; `None` where the body goes
    /// on.
    pub(crate) fn happens(self) -> Option<Poll<io::Error>> {
        match self {
            Kind::Short | Kind::Wrong => None,
            Kind::Cut => Some(Poll::Ready(io::Error::other("cut, as --test-server asks"))),
            Kind::Stall => Some(Poll::Pending),
            Kind::Die => Some(match raise(Signal::SIGKILL) {
                Ok(()) => Poll::Pending,
                Err(e) => Poll::Ready(e.into()),
            }),
        }
    }
}

impl FromStr for Misdeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, number) = text.split_once('@').unwrap_or((text, ""));
        let kind = Kind::NAMES.iter().find(|(known, _)| *known == name);
        match (kind, number.parse()) {
            (Some(&(_, kind)), Ok(number)) => Ok(Misdeed { kind, number }),
            _ => Err(format!(
                "'{text}' is not a deed (cut, short, wrong, stall or die), @ and a body's number"
            )),
        }
    }
}

impl fmt::Display for Misdeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Kind::NAMES.iter().find(|(_, kind)| *kind == self.kind);
        let (name, _) = name.ok_or(fmt::Error)?;
        write!(f, "{name}@{}", self.number)
    }
}

impl Serialize for Misdeed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deed_is_read_as_it_is_written() {
        for (name, _) in Kind::NAMES {
            let text = format!("{name}@12");
            let misdeed: Misdeed = text.parse().unwrap();
            assert_eq!(misdeed.to_string(), text);
            assert!(misdeed.at(12).is_some() && misdeed.at(11).is_none());
        }
        for text in ["", "cut", "cut@", "@1", "cut@-1", "sing@1"] {
            assert!(text.parse::<Misdeed>().is_err(), "{text}");
        }
    }
}
