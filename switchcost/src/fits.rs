//! Memory and limits that so many tasks would take on this machine.

use serde::Serialize;

use crate::probe::{Answer, Shortage};

/// So many tasks of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// The kind: a row of the plan.
    pub name: String,
    /// How many.
    pub tasks: u64,
    /// Bytes that they take in all, by the line through the measured counts.
    /// Unknown where huge pages void the line, or nothing was measured.
    pub bytes: Option<f64>,
    /// True if that can be had.
    pub verdict: Verdict,
}

/// True if so many tasks can be held.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Verdict {
    /// Yes, as the system is.
    Fits,
    /// After these limits are raised.
    NeedsRaise {
        /// Those that a command raises.
        limits: Vec<Shortage>,
    },
    /// No: a limit is as high as it goes.
    Beyond {
        /// That limit.
        limit: String,
    },
    /// No: there is not so much memory.
    NotEnoughMemory {
        /// How much there is.
        room: u64,
    },
    /// The program does not say, or the memory is not known.
    Unknown {
        /// Why not.
        reason: String,
    },
}

/// Decides from what the tasks take, what memory there is, and what the program says of the
/// limits. Limits of memory are decided by what was measured, not by the program's own estimate,
/// which is on the safe side.
pub fn verdict(bytes: Option<f64>, room: Option<u64>, answer: &Answer) -> Verdict {
    let (Some(bytes), Some(room)) = (bytes, room) else {
        let reason = "the memory is not known".to_owned();
        return Verdict::Unknown { reason };
    };
    if bytes > room as f64 {
        return Verdict::NotEnoughMemory { room };
    }
    let shortages = match answer {
        Answer::Fits => return Verdict::Fits,
        Answer::TooMuch { shortages, .. } => shortages,
        Answer::NoFlag(_) | Answer::Refused(_) => {
            let reason = answer.reason().unwrap_or_default();
            return Verdict::Unknown { reason };
        }
    };
    let limits: Vec<Shortage> =
        shortages.iter().filter(|shortage| shortage.resource != "memory").cloned().collect();
    if let Some(last) = limits.iter().find(|limit| limit.remedy.starts_with('#')) {
        let limit = last.name.clone();
        return Verdict::Beyond { limit };
    }
    match limits.is_empty() {
        true => Verdict::Fits,
        false => Verdict::NeedsRaise { limits },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    fn shortage(name: &str, resource: &str, remedy: &str) -> Shortage {
        Shortage {
            name: name.to_owned(),
            resource: resource.to_owned(),
            needed: 2,
            allowed: 1,
            remedy: remedy.to_owned(),
        }
    }

    fn too_much(shortages: &[Shortage]) -> Answer {
        Answer::TooMuch { largest: 1, shortages: shortages.to_vec() }
    }

    #[test]
    fn memory_comes_first_and_then_the_limits() {
        let files = shortage("open files", "descriptors", "ulimit");
        let estimate = shortage("MemAvailable", "memory", "# no command helps");
        let pids = shortage("kernel.pid_max", "threads", "# no command helps");
        let room = Some(1000);
        let raise = Verdict::NeedsRaise { limits: vec![files.clone()] };
        let beyond = Verdict::Beyond { limit: "kernel.pid_max".to_owned() };
        for (bytes, answer, expected) in [
            (999.0, Answer::Fits, Verdict::Fits),
            (1001.0, too_much(slice::from_ref(&files)), Verdict::NotEnoughMemory { room: 1000 }),
            (999.0, too_much(&[files.clone(), estimate.clone()]), raise),
            // The program's estimate of memory is no limit where the measured one fits.
            (999.0, too_much(&[estimate]), Verdict::Fits),
            (999.0, too_much(&[files, pids]), beyond),
        ] {
            assert_eq!(verdict(Some(bytes), room, &answer), expected);
        }
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let unknown = |v| matches!(v, Verdict::Unknown { .. });
        assert!(unknown(verdict(None, Some(1), &Answer::Fits)));
        assert!(unknown(verdict(Some(1.0), None, &Answer::Fits)));
        let refused = Answer::Refused("no".to_owned());
        assert!(unknown(verdict(Some(1.0), Some(2), &refused)));
    }
}
