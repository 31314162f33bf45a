//! `--raise-limits`: raises for one run what this process may raise.
//!
//! Limits of the process end with it. Kernel parameters are the whole system's: what they were
//! before is written into a ledger, and the last run that needs them puts them back.

use std::fmt;
use std::fs;

use nix::sys::resource::{Resource as Rlim, setrlimit};

use super::limit::{Limit, Raise};
use super::system::sysctl_file;
use super::{Demand, Limits, Shortage};

mod ledger;

pub use ledger::Lease;
use ledger::Ledger;

/// What became of one limit that was too low, or of a kernel parameter at the end of the run.
/// Displays as a line for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was raised.
    Raised {
        /// The limit.
        name: String,
        /// Its value before.
        from: u64,
        /// Its value now.
        to: u64,
        /// Whether the whole system has it, and the end of the run takes it back.
        put_back: bool,
    },
    /// It could not be raised.
    Refused {
        /// The limit.
        name: String,
        /// Why not, and what helps.
        why: String,
    },
    /// A kernel parameter has its value from before again.
    PutBack {
        /// The parameter's file.
        file: String,
        /// That value.
        to: u64,
    },
    /// A kernel parameter was not put back.
    Left {
        /// The parameter's file.
        file: String,
        /// Why not.
        why: String,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Raised {
                name,
                from,
                to,
                put_back,
            } => {
                let span = match put_back {
                    true => "for the whole system, until this run ends",
                    false => "for this process",
                };
                write!(f, "raised {name} from {from} to {to}, {span}")
            }
            Outcome::Refused { name, why } => write!(f, "not raised: {name}: {why}"),
            Outcome::PutBack { file, to } => write!(f, "put back {file} to {to}"),
            Outcome::Left { file, why } => write!(f, "not put back: {file}: {why}"),
        }
    }
}

/// Raises what is too low for `tasks` tasks and may be raised, and tells of each limit. Control
/// groups are left to those who made them.
///
/// The lease puts the kernel parameters back when it is ended; keep it as long as they are needed,
/// also where nothing had to be raised: another run may have raised them.
pub fn raise(demand: &Demand, tasks: u64) -> (Option<Lease>, Vec<Outcome>) {
    let mut outcomes = Vec::new();
    let mut lease = match Lease::take() {
        Ok(lease) => Ok(lease),
        Err(e) => Err(format!(
            "only root may for a run: what to put back cannot be kept in {e}"
        )),
    };
    let need = demand.of(tasks);
    let limits = Limits::read();
    let short: Vec<(&Limit, Shortage)> = limits
        .iter()
        .filter_map(|limit| Some((limit, limit.shortage(need.of(limit.resource))?)))
        .collect();
    // The whole system's parameters are not touched for a run that cannot be.
    let in_the_way = short
        .iter()
        .find(|(limit, short)| !may_be_raised(limit, short))
        .map(|(limit, _)| limit.name.clone());
    for (limit, short) in short {
        // What others use of a limit of the whole system may double before the run is built.
        let shared = match limit.raise {
            Raise::Sysctl { .. } => limit.in_use,
            _ => 0,
        };
        let target = limit.target(short.needed.saturating_add(shared));
        let raised = match (&limit.raise, target.or_else(|| limit.target(short.needed))) {
            (Raise::Sysctl { .. }, Some(_)) if in_the_way.is_some() => Err(format!(
                "of no use while {} is too low",
                in_the_way.as_deref().unwrap_or_default()
            )),
            (Raise::Sysctl { key, .. }, Some(to)) => match &mut lease {
                Ok(lease) => sysctl(lease.ledger(), key, to).map(|from| (from, to, true)),
                Err(why) => Err(why.clone()),
            },
            (Raise::Rlimit(rlimit), Some(to)) => {
                of_process(rlimit.option, to).map(|()| (limit.value, to, false))
            }
            (Raise::Write { .. }, _) => Err(by_hand("it belongs to who made the group", &short)),
            (Raise::Switch(_), _) => {
                Err(by_hand("how the system overcommits is not touched", &short))
            }
            _ => Err(short.remedy.trim_start_matches("# ").to_owned()),
        };
        let name = limit.name.clone();
        outcomes.push(match raised {
            Ok((from, to, put_back)) => Outcome::Raised {
                name,
                from,
                to,
                put_back,
            },
            Err(why) => Outcome::Refused {
                name,
                why: with_note(why, limit),
            },
        });
    }
    if let Ok(lease) = &mut lease {
        // Other runs may begin and end now.
        lease.release_ledger();
    }
    (lease.ok(), outcomes)
}

/// Whether a program can raise the limit at all, if it has the right.
fn may_be_raised(limit: &Limit, short: &Shortage) -> bool {
    matches!(limit.raise, Raise::Sysctl { .. } | Raise::Rlimit(_))
        && limit.target(short.needed).is_some()
}

fn by_hand(why: &str, short: &Shortage) -> String {
    format!("{why}: {}", short.remedy)
}

fn with_note(why: String, limit: &Limit) -> String {
    match limit.note {
        Some(note) => format!("{why} ({note})"),
        None => why,
    }
}

/// Raises a kernel parameter and returns its value from before.
fn sysctl(ledger: Option<&mut Ledger>, key: &str, to: u64) -> Result<u64, String> {
    let ledger = ledger.ok_or("the ledger is closed")?;
    let file = sysctl_file(key);
    let from = number(&file)?;
    ledger
        .note(&file, (from, to), || fs::write(&file, to.to_string()))
        .map_err(|e| format!("cannot write {file}, or keep what to put back: {e}"))?;
    Ok(from)
}

fn number(file: &str) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("cannot read {file}: {e}"))?;
    let number = text.trim().parse();
    number.map_err(|_| format!("{file} holds no number"))
}

/// Raises a limit of this process, soft and hard.
fn of_process(option: &str, to: u64) -> Result<(), String> {
    let resource = match option {
        "nofile" => Rlim::RLIMIT_NOFILE,
        "nproc" => Rlim::RLIMIT_NPROC,
        "as" => Rlim::RLIMIT_AS,
        "data" => Rlim::RLIMIT_DATA,
        _ => return Err(format!("{option} is no limit that is raised here")),
    };
    let (_, hard) = nix::sys::resource::getrlimit(resource).map_err(|e| e.to_string())?;
    setrlimit(resource, to, hard.max(to)).map_err(|e| e.to_string())
}
