//! What a program is started with besides its flags, and its parts as a command line has them.

use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;

use contract::units::Span;
use nix::sched::sched_setaffinity;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::Pid;

use super::scheduling::{Cpus, Policy, timer_slack};
use super::{Case, ensure_no_runner_flags};
use crate::system::console::{is_command, shell_line, shell_word};
use crate::system::seccomp::{self, Filter};

/// Setting of a program's process; what is `None` or empty is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// CPUs that it may use.
    pub cpus: Option<Cpus>,
    /// Scheduling policy.
    pub policy: Option<Policy>,
    /// Timer slack, in ns.
    pub timer_slack: Option<u64>,
    /// Environment variables besides the runner's.
    pub env: Vec<(String, String)>,
    /// Words of a command that executes the program.
    pub wrap: Vec<String>,
    /// True if its system calls pass a filter like the container engines' default.
    pub has_filter: bool,
}

impl Setting {
    /// Setting of a case's process among the CPUs that the runner may use.
    pub(crate) fn of_case(case: &Case, allowed: Option<&Cpus>) -> Self {
        let mut setting = case.setting.clone();
        if case.pin {
            setting.cpus = allowed.map(Cpus::first);
        }
        setting
    }

    /// The filter of its system calls, to be made before the process.
    pub(crate) fn filter(&self) -> anyhow::Result<Option<Filter>> {
        self.has_filter.then(seccomp::docker).transpose()
    }

    /// Applies it to the calling thread, between fork and exec: system calls alone.
    #[expect(unsafe_code, reason = "the default handler is set between fork and exec")]
    pub(crate) fn apply(&self, filter: Option<&Filter>) -> io::Result<()> {
        if let Some(cpus) = &self.cpus {
            sched_setaffinity(Pid::from_raw(0), &cpus.set()?)?;
        }
        if let Some(slack) = self.timer_slack {
            nix::sys::prctl::set_timerslack(slack)?;
        }
        // What the runner ignores, or nohup(1) for it, is nothing to the program.
        for ignored in [Signal::SIGXFSZ, Signal::SIGINT, Signal::SIGHUP] {
            // SAFETY: no handler is set.
            unsafe { signal(ignored, SigHandler::SigDfl) }?;
        }
        self.policy.map_or(Ok(()), Policy::apply)?;
        filter.map_or(Ok(()), seccomp::apply)
    }

    /// The refused part, if starting a program failed by this error.
    pub(crate) fn explain(&self, error: &io::Error) -> Option<String> {
        match (error.raw_os_error(), &self.cpus, self.policy) {
            (Some(libc::EPERM), _, Some(Policy::Fifo)) => Some(
                "policy fifo: it takes CAP_SYS_NICE or a real-time priority (`ulimit -r 1`), and a \
                 control group with real-time bandwidth"
                    .to_owned(),
            ),
            (Some(libc::EINVAL), Some(cpus), _) => {
                Some(format!("CPUs {cpus}: none of them may be used here"))
            }
            _ => None,
        }
    }
}

/// The parts that a record has no field of its own for, as a command line has them.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let env = self.env.iter().map(|(name, value)| Change::Env(name.clone(), value.clone()));
        let slack = self.timer_slack.map(Change::TimerSlack);
        let wrap = (!self.wrap.is_empty()).then(|| Change::Wrap(self.wrap.clone()));
        let filter = self.has_filter.then_some(Change::Seccomp);
        f.write_str(&together(&env.chain(slack).chain(wrap).chain(filter).collect::<Vec<_>>()))
    }
}

/// A change of a setting or of flags, as `duel` takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// `NAME=VALUE`: an environment variable.
    Env(String, String),
    /// `flags="--workers 4"`: for the programs that know them.
    Flags(Vec<String>),
    /// `cpus=0-3`.
    Cpus(Cpus),
    /// `policy=batch`.
    Policy(Policy),
    /// `slack=1ns`.
    TimerSlack(u64),
    /// `wrap="setarch -R"`: a command that executes the program.
    Wrap(Vec<String>),
    /// `seccomp=docker`.
    Seccomp,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = "write NAME=VALUE (environment), flags=\"--FLAG VALUE\", cpus=LIST, policy=NAME, \
                     slack=TIME, wrap=\"COMMAND ARG\" or seccomp=docker";
        if text.split('=').next().is_some_and(|name| name.contains('@')) {
            return Err(format!(
                "it is a side, which stands without a flag: `switchcost duel {} .`",
                shell_word(text)
            ));
        }
        let (name, value) = text.split_once('=').ok_or(usage)?;
        let words = || match shlex::split(value) {
            Some(words) if !words.is_empty() => Ok(words),
            Some(_) => Err(format!("{name}= has no word")),
            None => Err(format!("{name}={value}: a quote is not closed")),
        };
        match name {
            _ if text.contains(is_command) => Err("it has a control character in it".to_owned()),
            "flags" => {
                let words = words()?;
                ensure_no_runner_flags(&words).map_err(|e| e.to_string())?;
                Ok(Change::Flags(words))
            }
            "cpus" => value.parse().map(Change::Cpus),
            "policy" => Policy::named(value).map(Change::Policy),
            "slack" => timer_slack(value).map(|Span(ns)| Change::TimerSlack(ns)),
            "wrap" => words().map(Change::Wrap),
            "seccomp" if value == "docker" => Ok(Change::Seccomp),
            "seccomp" => Err("seccomp=docker is the only filter".to_owned()),
            _ if !is_variable(name) => Err(usage.to_owned()),
            "env" => Err(format!("write the variable alone: {value}")),
            "LD_PRELOAD" if let Some(missing) = missing_library(value) => Err(format!(
                "LD_PRELOAD: there is no {missing}, and the loader would go on without it"
            )),
            _ => match near(name) {
                None => Ok(Change::Env(name.to_owned(), value.to_owned())),
                Some(key) => Err(format!(
                    "nothing reads a variable '{name}': write {key}=; one of that name takes \
                     wrap=\"env {name}=VALUE\""
                )),
            },
        }
    }
}

/// Names of the settings that are no variables.
const KEYS: [&str; 6] = ["flags", "cpus", "policy", "slack", "wrap", "seccomp"];

/// The first library that is not there; those without a path are looked for by ld.so(8).
fn missing_library(list: &str) -> Option<&str> {
    list.split([':', ' ']).find(|path| path.contains('/') && !Path::new(path).is_file())
}

/// The key that a name was probably meant to be: it begins like one, or has up to two letters amiss.
fn near(name: &str) -> Option<&'static str> {
    let is_near = |key: &&str| {
        let begins = |long: &str, short: &str| short.len() > 2 && long.starts_with(short);
        let most = if key.len() > 4 { 2 } else { 1 };
        begins(key, name)
            || begins(name, key) && name.len() < key.len() + 3
            || strsim::osa_distance(name, key) <= most
    };
    KEYS.into_iter().find(is_near)
}

/// True if a shell can assign to a variable of this name.
fn is_variable(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Env(name, value) => write!(f, "{name}={}", shell_word(value)),
            Change::Flags(words) => write!(f, "flags={}", shell_word(&shell_line(words))),
            Change::Cpus(cpus) => write!(f, "cpus={cpus}"),
            Change::Policy(policy) => write!(f, "policy={}", policy.name()),
            Change::TimerSlack(ns) => write!(f, "slack={ns}ns"),
            Change::Wrap(words) => write!(f, "wrap={}", shell_word(&shell_line(words))),
            Change::Seccomp => f.write_str("seccomp=docker"),
        }
    }
}

/// Changes in a line.
pub fn together(changes: &[Change]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

impl Change {
    /// Changes a case; a flag takes the place of the one that the case has.
    pub fn put_into(&self, case: &mut Case) {
        let setting = &mut case.setting;
        match self {
            Change::Env(name, value) => {
                setting.env.retain(|(other, _)| other != name);
                setting.env.push((name.clone(), value.clone()));
            }
            Change::Flags(words) => {
                words.iter().for_each(|word| remove_flag(&mut case.flags, word));
                case.flags.extend(words.iter().cloned());
            }
            Change::Cpus(cpus) => {
                setting.cpus = Some(cpus.clone());
                (case.pin, case.relation) = (false, None);
            }
            Change::Policy(policy) => setting.policy = Some(*policy),
            Change::TimerSlack(ns) => setting.timer_slack = Some(*ns),
            Change::Wrap(words) => setting.wrap.extend(words.iter().cloned()),
            Change::Seccomp => setting.has_filter = true,
        }
    }
}

impl Change {
    /// Reason why a row cannot have it.
    pub fn obstacle(&self, case: &Case) -> Option<String> {
        if matches!(self, Change::Cpus(_)) && (case.pin || case.relation.is_some()) {
            return Some(format!("{self} would take its own CPUs away, which its name promises"));
        }
        let mut changed = case.clone();
        self.put_into(&mut changed);
        let has_it =
            changed.setting == case.setting && sorted(&changed.flags) == sorted(&case.flags);
        has_it.then(|| has_already(&self.to_string()))
    }
}

/// Reason why a row is left out that a change leaves as it is.
pub fn has_already(change: &str) -> String {
    format!("it has {change} already")
}

/// True if flags are the same but for those of these names.
pub fn are_alike_but(names: [&str; 2], one: &[String], other: &[String]) -> bool {
    let rest = |flags: &[String]| {
        let mut flags = flags.to_vec();
        names.iter().for_each(|name| remove_flag(&mut flags, name));
        sorted(&flags)
    };
    rest(one) == rest(other)
}

fn sorted(flags: &[String]) -> Vec<String> {
    let mut flags = flags.to_vec();
    flags.sort_unstable();
    flags
}

/// Removes a flag of that name with its value.
fn remove_flag(flags: &mut Vec<String>, word: &str) {
    let name = word.split('=').next().unwrap_or(word);
    if !name.starts_with("--") {
        return;
    }
    let with_value = format!("{name}=");
    while let Some(at) = flags.iter().position(|flag| flag == name || flag.starts_with(&with_value))
    {
        let is_value = |flag: &String| flags[at] == name && !flag.starts_with("--");
        let end = at + 1 + usize::from(flags.get(at + 1).is_some_and(is_value));
        flags.drain(at..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_as_they_print() {
        for text in [
            "MALLOC_ARENA_MAX=1",
            "A='a b'",
            "EMPTY=''",
            "CPUS=4",
            "http_proxy=x",
            "lang=C",
            "flags='--workers 4'",
            "cpus=0-3,8",
            "policy=batch",
            "slack=1ns",
            "wrap='nice -n 19'",
            "seccomp=docker",
        ] {
            let words = shlex::split(text).unwrap();
            assert_eq!(words[0].parse::<Change>().unwrap().to_string(), text);
        }
        for (text, why) in [
            ("", "write NAME=VALUE"),
            ("=1", "write NAME=VALUE"),
            ("x", "write NAME=VALUE"),
            ("flags=", "no word"),
            ("flags=--iters 5", "the runner's own"),
            ("wrap='nice", "not closed"),
            ("cpus=x", "no list"),
            ("policy=foo", "no policy 'foo': other, batch or fifo"),
            ("polcy=batch", "write policy="),
            ("LD_PRELOAD=/nowhere/lib.so", "there is no /nowhere/lib.so"),
            ("polciy=batch", "write policy="),
            ("cpu=1", "write cpus="),
            ("cpuset=1", "write cpus="),
            ("warp=nice", "write wrap="),
            ("flag=--workers", "write flags="),
            ("secomp=docker", "write seccomp="),
            ("env=A=1", "alone: A=1"),
            ("slack=0s", "no timer slack"),
            ("seccomp=none", "only filter"),
            ("A=\u{1b}[0m", "control character"),
        ] {
            let error = text.parse::<Change>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_flag_takes_the_place_of_the_one_that_is_there() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        for (flags, expected) in [
            ("--quiet", "--quiet --workers 4"),
            ("--workers 2 --quiet", "--quiet --workers 4"),
            ("--workers=2 --workers-x 1", "--workers-x 1 --workers 4"),
            ("--workers --quiet", "--quiet --workers 4"),
        ] {
            let mut case = Case { flags: words(flags), ..Case::default() };
            "flags=--workers 4".parse::<Change>().unwrap().put_into(&mut case);
            assert_eq!(case.flags.join(" "), expected);
        }
    }
}
