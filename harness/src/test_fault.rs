//! Faults that a test asks for: a task of a chain that ends in mid-run, or does what is wrong.
//!
//! A program spawns another function in the place of that task, so that the real one has no branch
//! for it. The hidden flag is in the record: nobody takes such a run for a real one.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::Serialize;

use crate::BadUsage;

/// How many tokens the faulty task passes on first, so that there are samples to be kept.
pub const PASSED_BEFORE: u64 = 3;

/// The hidden flag.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct TestFault {
    /// Have task K, counted from 0, end in mid-run (fail, panic, close) or before it has started
    /// (absent), hang, or pass on what is wrong (corrupt), for a test: the rest must come to an end,
    /// and the cause must be told
    #[arg(long, value_name = "ENDING@K", hide = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_fault: Option<Fault>,
}

/// Which task ends, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    ending: Ending,
    task: u32,
}

/// How a task ends that should have gone on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It returns an error.
    Fail,
    /// It panics.
    Panic,
    /// It closes its ends of both links, as if all was done.
    Close,
    /// It returns an error before it has told that it is there.
    Absent,
    /// It does not end, and passes nothing on any more.
    Hang,
    /// It goes on, and spoils what it passes on.
    Corrupt,
}

impl TestFault {
    /// Checks that the chain has such a task.
    ///
    /// # Errors
    /// A [`BadUsage`] error that names the last one.
    pub fn check(&self, tasks: u32) -> anyhow::Result<()> {
        match self.test_fault {
            Some(fault) if fault.task >= tasks => Err(BadUsage::new(format!(
                "--test-fault {fault}: there are only tasks 0 to {}",
                tasks - 1
            ))),
            _ => Ok(()),
        }
    }

    /// How task `k` is to end, if it is to.
    pub fn of(&self, k: u32) -> Option<Ending> {
        let fault = self.test_fault.filter(|fault| fault.task == k)?;
        Some(fault.ending)
    }
}

impl Ending {
    const NAMES: [(&'static str, Ending); 6] = [
        ("fail", Ending::Fail),
        ("panic", Ending::Panic),
        ("close", Ending::Close),
        ("absent", Ending::Absent),
        ("hang", Ending::Hang),
        ("corrupt", Ending::Corrupt),
    ];

    /// Whether the faulty task takes another token when it has passed on so many.
    pub fn goes_on(self, passed: u64) -> bool {
        passed < PASSED_BEFORE || self == Ending::Corrupt
    }

    /// Inverts the last byte of the token that comes after so many, if it is to be spoiled.
    pub fn spoil(self, passed: u64, token: &mut [u8]) {
        if self == Ending::Corrupt
            && passed >= PASSED_BEFORE
            && let Some(byte) = token.last_mut()
        {
            *byte = !*byte;
        }
    }

    /// Ends the calling task after it has passed on `passed` tokens. A task that is to hang or
    /// to go on does so in its own way, and does not come here.
    ///
    /// # Errors
    /// Always, unless it is to look as if all was done.
    ///
    /// # Panics
    /// Where that is what was asked for.
    pub fn end(self, passed: u64) -> io::Result<u64> {
        match self {
            Ending::Close => Ok(passed),
            Ending::Panic => panic!("ends here, as --test-fault asks"),
            Ending::Fail | Ending::Absent | Ending::Hang | Ending::Corrupt => {
                Err(io::Error::other("fails here, as --test-fault asks"))
            }
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, task) = text.split_once('@').unwrap_or((text, ""));
        let ending = Ending::NAMES.iter().find(|(known, _)| *known == name);
        match (ending, task.parse()) {
            (Some(&(_, ending)), Ok(task)) => Ok(Fault { ending, task }),
            _ => Err(format!(
                "'{text}' is not an ending (fail, panic, close, absent, hang or corrupt), @ and a task's number"
            )),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Ending::NAMES.iter().find(|(_, e)| *e == self.ending);
        write!(f, "{}@{}", name.map_or("", |(name, _)| name), self.task)
    }
}

impl Serialize for Fault {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_read_and_print() {
        for text in [
            "fail@0",
            "panic@12",
            "close@4294967295",
            "absent@3",
            "corrupt@1",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for text in ["", "fail", "fail@", "@3", "fail@-1", "fail@4294967296"] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_is_spoiled_once_others_were_passed_on() {
        let mut token = [1, 2];
        Ending::Corrupt.spoil(PASSED_BEFORE - 1, &mut token);
        Ending::Hang.spoil(PASSED_BEFORE, &mut token);
        assert_eq!(token, [1, 2]);
        Ending::Corrupt.spoil(PASSED_BEFORE, &mut token);
        assert_eq!(token, [1, 253]);
        assert!(Ending::Corrupt.goes_on(PASSED_BEFORE) && !Ending::Hang.goes_on(PASSED_BEFORE));
    }

    #[test]
    fn only_the_task_asked_for_ends() {
        let fault = TestFault {
            test_fault: Some("close@2".parse().unwrap()),
        };
        assert_eq!(
            [1, 2, 3].map(|k| fault.of(k)),
            [None, Some(Ending::Close), None]
        );
        assert!(fault.check(3).is_ok());
        let error = fault.check(2).unwrap_err();
        assert!(error.downcast_ref::<BadUsage>().is_some(), "{error}");
    }
}
