//! A change of what a program is started with, as `duel` takes it: its one part is that which is not empty.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use contract::units::Span;

use super::case::Case;
use super::check::ensure_no_runner_flags;
use super::scheduling::{Policy, timer_slack};
use super::setting::Setting;
use crate::system::console::{is_command, shell_line, shell_word};

/// A change of a setting or of flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// `flags="--workers 4"`: for the programs that know them.
    flags: Vec<String>,
    /// `NAME=VALUE`, an environment variable; `cpus=0-3`, `policy=batch`, `slack=1ns`, `wrap="setarch -R"` or
    /// `seccomp=docker`.
    setting: Setting,
}

impl From<Setting> for Change {
    fn from(setting: Setting) -> Self {
        Change { setting, ..Change::default() }
    }
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.split('=').next().is_some_and(|name| name.contains('@')) {
            return Err(format!(
                "it is a side, which stands without a flag: `switchcost duel {} .`",
                shell_word(text)
            ));
        }
        let (name, value) = text.split_once('=').ok_or(USAGE)?;
        let words = || match shlex::split(value) {
            Some(words) if !words.is_empty() => Ok(words),
            Some(_) => Err(format!("{name}= has no word")),
            None => Err(format!("{name}={value}: a quote is not closed")),
        };
        let none = Setting::default();
        Ok(match name {
            _ if text.contains(is_command) => {
                return Err("it has a control character in it".to_owned());
            }
            "flags" => {
                let flags = words()?;
                ensure_no_runner_flags(&flags).map_err(|e| e.to_string())?;
                return Ok(Change { flags, ..Change::default() });
            }
            "cpus" => Setting { cpus: Some(value.parse()?), ..none },
            "policy" => Setting { policy: Some(Policy::named(value)?), ..none },
            "slack" => {
                let Span(ns) = timer_slack(value)?;
                Setting { timer_slack: Some(ns), ..none }
            }
            "wrap" => Setting { wrap: words()?, ..none },
            "seccomp" if value == "docker" => Setting { has_filter: true, ..none },
            "seccomp" => return Err("seccomp=docker is the only filter".to_owned()),
            _ => {
                ensure_variable(name, value)?;
                Setting { env: vec![(name.to_owned(), value.to_owned())], ..none }
            }
        }
        .into())
    }
}

const USAGE: &str = "write NAME=VALUE (environment), flags=\"--FLAG VALUE\", cpus=LIST, policy=NAME, \
                     slack=TIME, wrap=\"COMMAND ARG\" or seccomp=docker";

/// Checks that a name is probably meant for a variable.
fn ensure_variable(name: &str, value: &str) -> Result<(), String> {
    if !is_variable(name) {
        return Err(USAGE.to_owned());
    }
    if name == "env" {
        return Err(format!("write the variable alone: {value}"));
    }
    if let Some(missing) = missing_library(value).filter(|_| name == "LD_PRELOAD") {
        return Err(format!(
            "LD_PRELOAD: there is no {missing}, and the loader would go on without it"
        ));
    }
    let meant = near(name).map(|key| {
        format!(
            "nothing reads a variable '{name}': write {key}=; one of that name takes \
             wrap=\"env {name}=VALUE\""
        )
    });
    meant.map_or(Ok(()), Err)
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
        match (&self.flags[..], &self.setting) {
            ([], Setting { cpus: Some(cpus), .. }) => write!(f, "cpus={cpus}"),
            ([], Setting { policy: Some(policy), .. }) => write!(f, "policy={}", policy.name()),
            ([], setting) => setting.fmt(f),
            (flags, _) => write!(f, "flags={}", shell_word(&shell_line(flags))),
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
        self.flags.iter().for_each(|word| remove_flag(&mut case.flags, word));
        case.flags.extend(self.flags.iter().cloned());
        if self.setting.cpus.is_some() {
            (case.pin, case.relation) = (false, None);
        }
        case.setting.put(&self.setting);
    }

    /// Reason why a row cannot have it.
    pub fn obstacle(&self, case: &Case) -> Option<String> {
        if self.setting.cpus.is_some() && (case.pin || case.relation.is_some()) {
            return Some(format!("{self} would take its own CPUs away, which its name promises"));
        }
        let mut changed = case.clone();
        self.put_into(&mut changed);
        let has_it =
            changed.setting == case.setting && sorted(&changed.flags) == sorted(&case.flags);
        has_it.then(|| format!("it has {self} already"))
    }
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
