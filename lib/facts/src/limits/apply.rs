//! Raising limits, and putting kernel parameters back.

use std::fs::OpenOptions;
use std::io::Write;

use nix::sys::resource::{Resource as NixResource, getrlimit, setrlimit};
use serde::Serialize;

use super::remedy::Means;
use super::system::sysctl_file;
use super::{Limits, LimitsReport, Shortage};
use crate::source::Source;

/// Kernel parameters that may be set. All of them are plain upper bounds.
const SETTABLE: [&str; 5] =
    ["fs.nr_open", "fs.file-max", "kernel.threads-max", "kernel.pid_max", "vm.max_map_count"];

/// A limit that was raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Raised {
    /// Name of the limit.
    pub name: String,
    /// Value before.
    pub from: u64,
    /// Value now.
    pub to: u64,
    /// It holds for the whole system; otherwise for this process and those that it starts.
    pub whole_system: bool,
}

/// A limit that was not set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Name of the limit.
    pub name: String,
    /// Cause.
    pub why: String,
}

/// Outcome of [`Limits::apply`].
#[derive(Debug, Default)]
pub struct Applied {
    /// Limits that were raised.
    pub raised: Vec<Raised>,
    /// Limits that were not.
    pub refused: Vec<Refused>,
    /// Commands that put the kernel parameters back, for root, the last one first. Resource limits
    /// end with this process.
    pub undo: Vec<String>,
}

impl Limits {
    /// Raises what a report found too low, as far as this process may: resource limits for itself and
    /// the processes that it starts, and kernel parameters. Control groups belong to who made them.
    ///
    /// Kernel parameters are not touched where another limit that cannot be raised is too low.
    pub fn apply(&self, report: &LimitsReport) -> Applied {
        let mut applied = Applied::default();
        let is_hopeless =
            |short: &&Shortage| target(short).is_none() || short.remedy.refusal.is_some();
        let hopeless = report.shortages.iter().find(is_hopeless);
        for short in &report.shortages {
            let name = short.limit.name.clone();
            let whole_system = matches!(short.limit.means, Means::Sysctl { .. });
            let outcome = match hopeless {
                Some(other) if whole_system => {
                    Err(format!("of no use while {} is too low", other.limit.name))
                }
                _ => self.raise(short, &mut applied.undo),
            };
            match outcome {
                Ok((from, to)) => applied.raised.push(Raised { name, from, to, whole_system }),
                Err(why) => applied.refused.push(Refused { name, why }),
            }
        }
        applied
    }

    /// Raises one limit: its values before and now.
    fn raise(&self, short: &Shortage, undo: &mut Vec<String>) -> Result<(u64, u64), String> {
        let remedy = &short.remedy;
        let to = target(short).ok_or_else(|| remedy.to_string())?;
        let with_remedy = |why: String| format!("{why}: {remedy}");
        match &short.limit.means {
            Means::Sysctl { key, .. } => {
                let from = self.source.number(&sysctl_file(key))?;
                set(&self.source, key, to).map_err(with_remedy)?;
                undo.insert(0, format!("sysctl -w {key}={from}"));
                Ok((from, to))
            }
            Means::Rlimit(limit) => {
                set_rlimit(limit.option, to).map_err(with_remedy)?;
                Ok((short.limit.value.unwrap_or(0), to))
            }
            _ => Err(remedy.to_string()),
        }
    }
}

/// Value that this process would set; `None` where it sets none.
fn target(short: &Shortage) -> Option<u64> {
    match &short.limit.means {
        means @ (Means::Sysctl { .. } | Means::Rlimit(_)) => means.target(short.needed),
        _ => None,
    }
}

/// Sets a kernel parameter.
fn set(source: &Source, key: &str, to: u64) -> Result<(), String> {
    if !SETTABLE.contains(&key) {
        return Err(format!("{key} is not set from here"));
    }
    let file = sysctl_file(key);
    let write = || {
        let mut file = OpenOptions::new().write(true).truncate(true).open(source.path(&file))?;
        file.write_all(to.to_string().as_bytes())
    };
    write().map_err(|e: std::io::Error| format!("cannot write {file}: {e}"))?;
    match source.number::<u64>(&file)? {
        now if now == to => Ok(()),
        now => Err(format!("{file} took {now} in place of {to}")),
    }
}

/// Raises a resource limit of this process, soft and hard.
fn set_rlimit(option: &str, to: u64) -> Result<(), String> {
    let resource = match option {
        "nofile" => NixResource::RLIMIT_NOFILE,
        "nproc" => NixResource::RLIMIT_NPROC,
        "as" => NixResource::RLIMIT_AS,
        _ => return Err(format!("{option} is not raised from here")),
    };
    let raise = || {
        let (_, hard) = getrlimit(resource)?;
        setrlimit(resource, to, hard.max(to))
    };
    raise().map_err(|e| format!("cannot raise {option} to {to}: {e}"))
}
