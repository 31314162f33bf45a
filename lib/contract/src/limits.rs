//! Limits of the system against the needs of a run, before anything is built.

use std::env;
use std::ffi::{OsStr, OsString};
use std::iter;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use limits::{Limits, Resource};
use nix::sys::resource::{Resource::RLIMIT_NOFILE, getrlimit, setrlimit};

use crate::message::Description;

/// Raises the soft descriptor limit to the hard one, and checks that the run fits. The error names each limit that is
/// too low, says how many tasks fit, and where to find the remedies.
pub fn check(description: &Description) -> anyhow::Result<()> {
    let Description { tasks, needs, .. } = description;
    // The commands that it runs would inherit the limit, and some close all descriptors below that.
    if !description.fresh {
        raise_descriptors(needs.descriptors.of_tasks(*tasks))?;
    }
    let limits = Limits::read();
    let mut short = Vec::new();
    for (limit, needed) in limits.too_low(needs, *tasks) {
        let (left, used) = (limit.room.unwrap_or(0), limit.in_use.unwrap_or(0));
        short.push(format!("{limit} leaves {left} where {} are needed", needed - used));
    }
    if short.is_empty() {
        return Ok(());
    }
    let fitting = limits.tightest(needs).map_or(0, |(_, tasks)| tasks);
    let beside =
        if fitting == 0 { " in addition to what the other flags need (lower those)" } else { "" };
    bail!(
        "--tasks {tasks} is more than this system allows: {}; at most {fitting} tasks fit{beside}; \
         `{}` shows how to raise the limits",
        short.join("; "),
        command()
    )
}

/// Message for a limit that is hit in spite of the check, because others took what was left, and the flag that asked for
/// so many. Nobody can predict what the kernel reserves, so a limit of the address space is named wherever there is one.
pub fn refused(action: &str, flag: &str, number: u32) -> String {
    let limits = Limits::read();
    let mut bounds = limits.statuses.iter();
    let space = bounds.find_map(|limit| {
        Some((limit, limit.value.filter(|_| limit.resource == Resource::AddressSpace)?))
    });
    let space = space.map(|(limit, bytes)| format!("raise {limit}, which is {bytes} bytes"));
    let lower = (number > 1).then(|| format!("lower {flag}"));
    let limits = format!("see `{}`", command());
    let remedies: Vec<String> = lower.into_iter().chain(space).chain([limits]).collect();
    format!("cannot {action}: {}", remedies.join(", or "))
}

/// The command that tells the limits of this command line.
fn command() -> String {
    let mut words = env::args_os();
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default();
    // The runner's flag is not for people.
    let flags = words.filter(|word| word != "--controlled");
    let words: Vec<OsString> = iter::once(program.to_owned()).chain(flags).collect();
    format!("switchcost limits {}", words.join(OsStr::new(" ")).display())
}

/// Raises the soft limit of descriptors to the hard one. Some sandboxes forbid that: then the soft limit must do.
fn raise_descriptors(needed: u64) -> anyhow::Result<()> {
    let (soft, hard) = getrlimit(RLIMIT_NOFILE).context("getrlimit")?;
    if soft < hard && setrlimit(RLIMIT_NOFILE, hard, hard).is_err() {
        ensure!(
            needed <= soft,
            "{needed} descriptors are needed, and the soft limit (ulimit -Sn) of {soft} cannot be raised here: lower --tasks"
        );
    }
    Ok(())
}
