//! Which limit a failure half-way has met.

use std::fmt::Write;
use std::io;

use nix::sys::resource::{Resource as NixResource, getrlimit};

use super::counts::descriptor_limit;
use super::exceeded::Amount;
use super::finding::Finding;
use super::limit::Limit;
use super::{Demand, Limits, Resource};

/// Says which limit made a step fail when `built` of `tasks` tasks were there,
/// and what raises it far enough for the rest. `what` names the step: `cannot
/// {what} after {built} of {tasks} tasks`.
///
/// The limits are read again, so call it while what was built is still there:
/// once it is dropped nothing is used up any more. Where no limit is found to
/// be used up, the text says so and names the nearest; to an error that no
/// limit causes nothing is added.
pub fn explain(
    what: &str,
    built: impl Into<u64>,
    tasks: impl Into<u64>,
    error: io::Error,
    demand: &Demand,
) -> anyhow::Error {
    explain_of("tasks", what, built, tasks, error, demand)
}

/// The same where it is not tasks that are built: `cannot {what} after {built} of {all} {things}`.
pub fn explain_of(
    things: &str,
    what: &str,
    built: impl Into<u64>,
    all: impl Into<u64>,
    error: io::Error,
    demand: &Demand,
) -> anyhow::Error {
    let mut limits = Limits::read();
    // With no descriptor left no file can be read; the system call needs none.
    if errno(&error) == Some(libc::EMFILE)
        && let Ok((soft, hard)) = getrlimit(NixResource::RLIMIT_NOFILE)
    {
        limits.findings = vec![Finding::binds(descriptor_limit(soft, hard))];
    }
    let (built, all) = (built.into(), all.into());
    let mut text = format!("cannot {what} after {built} of {all} {things}: {error}");
    limits.explain(&mut text, &error, demand, built, all);
    // The system's error is in the text already: as a source it would come
    // once more, behind the commands.
    anyhow::Error::msg(text)
}

impl Limits {
    /// Adds to `text` what these limits, read when it had failed, tell of `error`.
    fn explain(
        &self,
        text: &mut String,
        error: &io::Error,
        demand: &Demand,
        built: u64,
        tasks: u64,
    ) {
        let suspects = suspects(error);
        if suspects.is_empty() {
            return;
        }
        let built_need = demand.of(built);
        let suspects: Vec<Limit> = self
            .iter()
            .filter(|limit| suspects.contains(&limit.resource))
            .filter(|limit| demand.of(tasks).of(limit.resource) > 0)
            .map(|limit| Limit {
                // At least what this run has made itself.
                in_use: match limit.hidden {
                    true => limit.in_use.max(built_need.of(limit.resource)),
                    false => limit.in_use,
                },
                ..limit.clone()
            })
            .collect();
        let rest = demand.per_task.times(tasks.saturating_sub(built));
        let mut found = false;
        for limit in &suspects {
            let step = demand.per_task.of(limit.resource).max(1);
            if limit.room() < step {
                found = true;
                let needed = limit
                    .in_use
                    .saturating_add(rest.of(limit.resource).max(step));
                describe(text, "used up", limit, needed);
            }
        }
        if found {
            return;
        }
        text.push_str("\n  no limit that can be read is used up");
        let nearest = suspects.iter().max_by(|a, b| {
            let part = |limit: &Limit| limit.in_use as f64 / limit.value.max(1) as f64;
            part(a).total_cmp(&part(b))
        });
        if let Some(limit) = nearest {
            let needed = limit.in_use.saturating_add(rest.of(limit.resource));
            describe(text, "the nearest", limit, needed);
        }
    }
}

/// Adds one limit, and its command if it is too low for `needed`.
fn describe(text: &mut String, what: &str, limit: &Limit, needed: u64) {
    let in_use = Amount::at_most(limit.in_use, limit.resource);
    let value = Amount::at_most(limit.value, limit.resource);
    let (name, source) = (&limit.name, &limit.source);
    // Writing to a String cannot fail.
    let _ = write!(text, "\n  {what}: {name}: {in_use} of {value} ({source})");
    if needed > limit.value {
        let shortage = limit.shortage_of(needed);
        let _ = write!(text, "\n      {}", shortage.remedy.trim_start_matches("# "));
        if let Some(note) = shortage.note {
            let _ = write!(text, "\n      ({note})");
        }
    }
}

/// What may have run out, judged by the error alone.
///
/// EAGAIN is what clone(2) gives for every limit of threads, and what
/// pthread_create(3) makes of a stack that could not be mapped.
fn suspects(error: &io::Error) -> &'static [Resource] {
    use Resource::{
        AddressSpace, Commit, Descriptors, Files, LargestMap, Maps, Memory, Pipes, Threads, Watches,
    };
    match errno(error) {
        Some(libc::EMFILE) => &[Descriptors],
        Some(libc::ENFILE) => &[Files, Pipes],
        Some(libc::ENOSPC) => &[Watches],
        Some(libc::EAGAIN) => &[Threads, Maps, AddressSpace, Commit, LargestMap, Memory],
        Some(libc::ENOMEM) => &[Maps, AddressSpace, Commit, LargestMap, Memory],
        _ => &[],
    }
}

fn errno(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or(match error.kind() {
        io::ErrorKind::WouldBlock => Some(libc::EAGAIN),
        io::ErrorKind::OutOfMemory => Some(libc::ENOMEM),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::limit::Raise;
    use super::*;
    use crate::limits::Need;

    fn limit(name: &str, resource: Resource, in_use: u64, value: u64) -> Limit {
        Limit {
            name: name.to_owned(),
            source: format!("/fixture/{name}"),
            resource,
            value,
            in_use,
            raise: Raise::Sysctl {
                key: "a.key",
                most: 1 << 30,
                each: 1,
            },
            note: None,
            as_root: false,
            hidden: false,
        }
    }

    fn threads() -> Demand {
        Demand {
            fixed: Need::NONE,
            per_task: Need::std_thread(1 << 21),
            ..Demand::default()
        }
    }

    fn error(errno: i32) -> io::Error {
        io::Error::from_raw_os_error(errno)
    }

    /// What is added to the error's own text.
    fn added(limits: Vec<Limit>, errno: i32, built: u64, tasks: u64) -> String {
        let mut text = String::new();
        let found = Limits {
            findings: limits.into_iter().map(Finding::binds).collect(),
            ..Limits::read_under(Path::new("/nowhere"))
        };
        found.explain(&mut text, &error(errno), &threads(), built, tasks);
        text
    }

    #[test]
    fn every_limit_that_is_used_up_is_named() {
        let limits = vec![
            limit("files", Resource::Descriptors, 10, 10),
            limit("pids", Resource::Threads, 1000, 1000),
            limit("threads", Resource::Threads, 1000, 5000),
            // Three more would fit, and a thread takes four.
            limit("maps", Resource::Maps, 65_527, 65_530),
        ];
        assert_eq!(
            added(limits, libc::EAGAIN, 999, 2000),
            "\n\
             \x20 used up: pids: 1000 of 1000 (/fixture/pids)\n\
             \x20     sudo sysctl -w a.key=2304\n\
             \x20 used up: maps: 65527 of 65530 (/fixture/maps)\n\
             \x20     sudo sysctl -w a.key=73728"
        );
    }

    #[test]
    fn when_nothing_is_used_up_it_says_so() {
        let limits = vec![
            limit("pids", Resource::Threads, 10, 1000),
            limit("threads", Resource::Threads, 10, 100),
        ];
        assert_eq!(
            added(limits, libc::EAGAIN, 5, 10),
            "\n\
             \x20 no limit that can be read is used up\n\
             \x20 the nearest: threads: 10 of 100 (/fixture/threads)"
        );
        assert_eq!(
            added(vec![], libc::ENOMEM, 5, 10),
            "\n  no limit that can be read is used up"
        );
    }

    #[test]
    fn to_an_error_that_no_limit_causes_nothing_is_added() {
        let explained = explain("make a link", 0u32, 1u32, error(libc::EPIPE), &threads());
        assert_eq!(
            format!("{explained:#}"),
            "cannot make a link after 0 of 1 tasks: Broken pipe (os error 32)"
        );
    }

    #[test]
    fn out_of_descriptors_is_told_without_reading_a_file() {
        let demand = Demand {
            fixed: Need::NONE,
            per_task: Need {
                descriptors: 2,
                ..Need::NONE
            },
            ..Demand::default()
        };
        let explained = explain("make a link", 10u32, 20u32, error(libc::EMFILE), &demand);
        let text = explained.to_string();
        assert!(text.contains("used up: open files (ulimit -n)"), "{text}");
        assert!(text.contains("getrlimit"), "{text}");
    }
}
