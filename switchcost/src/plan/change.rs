//! A change of a program's settings, as `duel` takes it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use clap::ValueEnum;

use record::{Command, Policy, Setting};

use super::check::ensure_no_runner_flags;
use super::values::cpus;
use crate::system::console::{BadUsage, is_command, shell_word};

/// A change of a setting or of flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// As it is typed in a shell.
    text: String,
    /// `flags="--workers 4"`: for the programs that know them.
    flags: Vec<String>,
    /// `NAME=VALUE`, an environment variable; `cpus=0-3`, `policy=batch` or `wrap="setarch -R"`.
    setting: Setting,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(is_command) {
            return Err("a setting must not have control characters".to_owned());
        }
        let (name, value) = text.split_once('=').ok_or(USAGE)?;
        let text = format!("{name}={}", shell_word(value));
        let mut change = Change { text, ..Change::default() };
        let setting = &mut change.setting;
        match name {
            "flags" => {
                change.flags = words(name, value)?;
                ensure_no_runner_flags(&change.flags).map_err(|e| e.to_string())?;
            }
            "cpus" => setting.cpus = Some(cpus(value)?),
            "policy" => {
                let policy = Policy::from_str(value, false);
                setting.policy = Some(policy.map_err(|_| {
                    format!("there is no policy '{value}': use other, batch or fifo")
                })?);
            }
            "wrap" => setting.wrap = words(name, value)?,
            _ => {
                ensure_variable(name, value)?;
                setting.env.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(change)
    }
}

/// The words of a setting, as a shell splits them.
fn words(name: &str, value: &str) -> Result<Vec<String>, String> {
    match shlex::split(value) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err(format!("{name}= is empty: write {name}=\"WORD ...\"")),
        None => Err(format!("{name}={value}: close the quote")),
    }
}

const USAGE: &str = "write NAME=VALUE (an environment variable, in capitals), flags=\"--FLAG VALUE\", cpus=LIST, \
                     policy=NAME or wrap=\"COMMAND ARG\"; the build of a duel needs no flag: \
                     `switchcost duel tokio@1.50.0 .`";

/// Checks that a name is meant as a variable: a name in small letters may be a misspelt setting.
fn ensure_variable(name: &str, value: &str) -> Result<(), String> {
    let begins_with_digit = name.starts_with(|c: char| c.is_ascii_digit());
    let mut letters = name.chars();
    if name.is_empty()
        || begins_with_digit
        || !letters.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    {
        return Err(format!(
            "there is no setting '{name}': {USAGE}; for other variables use wrap=\"env NAME=VALUE\""
        ));
    }
    // Libraries without a path are looked for by ld.so(8).
    let mut paths = value.split([':', ' ']).filter(|path| path.contains('/'));
    let missing = paths.find(|path| !Path::new(path).is_file());
    match missing.filter(|_| name == "LD_PRELOAD") {
        None => Ok(()),
        Some(missing) => Err(format!(
            "LD_PRELOAD: there is no {missing}, and the loader would ignore that: name a file that exists"
        )),
    }
}

impl Change {
    /// The change to a command, for the measured program that runs commands.
    pub(super) fn of_command(line: &str) -> Self {
        let flags = vec!["--run".to_owned(), line.to_owned()];
        Change { text: line.to_owned(), flags, ..Change::default() }
    }
}

impl Change {
    /// The variable and its value, if cargo or rustc reads it: programs that are built with it are other ones.
    pub(super) fn of_build(&self) -> Option<(&str, &str)> {
        let (name, value) = self.setting.env.iter().next()?;
        let is_read = name.starts_with("CARGO_")
            || name.starts_with("RUSTC")
            || name == "RUSTFLAGS"
            || name == "RUSTUP_TOOLCHAIN";
        is_read.then_some((name, value))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Changes on one line.
pub fn together(changes: &[Change]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Checks that none of these changes would replace another one; wrappers add up.
///
/// # Errors
/// The name that is given twice.
pub fn ensure_each_once<'a>(changes: impl IntoIterator<Item = &'a Change>) -> anyhow::Result<()> {
    let mut names = BTreeSet::new();
    match changes.into_iter().flat_map(Change::names).find(|name| !names.insert(*name)) {
        Some(name) => {
            Err(BadUsage::new(format!("the setting {name} is given twice: drop one of them")))
        }
        None => Ok(()),
    }
}

impl Change {
    /// Names of what it sets: the setting, or each of the flags.
    fn names(&self) -> Vec<&str> {
        fn before_value(text: &str) -> &str {
            text.split('=').next().unwrap_or(text)
        }
        match before_value(&self.text) {
            "wrap" => Vec::new(),
            "flags" => {
                let flags = self.flags.iter().filter(|word| word.starts_with("--"));
                flags.map(|flag| before_value(flag)).collect()
            }
            name => vec![name],
        }
    }

    /// Changes a command; a flag replaces the same flag.
    pub fn put_into(&self, command: &mut Command) {
        self.flags.iter().for_each(|word| remove_flag(&mut command.flags, word));
        command.flags.extend(self.flags.iter().cloned());
        command.setting.put(&self.setting);
    }

    /// Why a command of a plan cannot have this change.
    pub fn obstacle(&self, command: &Command) -> Option<String> {
        if self.setting.cpus.is_some() && command.setting.cpus.is_some() {
            return Some(format!("{self} would replace the CPUs that its name promises"));
        }
        let mut changed = command.clone();
        self.put_into(&mut changed);
        let has_it =
            changed.setting == command.setting && sorted(&changed.flags) == sorted(&command.flags);
        has_it.then(|| format!("it has {self} already"))
    }
}

/// Flags in any order, each with its values.
fn sorted(flags: &[String]) -> Vec<&[String]> {
    let mut sorted: Vec<&[String]> = flags.chunk_by(|_, next| !next.starts_with("--")).collect();
    sorted.sort_unstable();
    sorted
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
        let value = flags.get(at + 1).filter(|next| flags[at] == name && !next.starts_with("--"));
        let end = at + 1 + usize::from(value.is_some());
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
            "flags='--workers 4'",
            "cpus=0-3,8",
            "policy=batch",
            "wrap='nice -n 19'",
        ] {
            let words = shlex::split(text).unwrap();
            assert_eq!(words[0].parse::<Change>().unwrap().to_string(), text);
        }
        for (text, why) in [
            ("", "write NAME=VALUE"),
            ("=1", "no setting ''"),
            ("flags=", "is empty"),
            ("flags=--iters 5", "belongs to the runner"),
            ("wrap='nice", "close the quote"),
            ("cpus=x", "not a list"),
            ("policy=foo", "no policy 'foo': use other, batch or fifo"),
            ("polcy=batch", "no setting 'polcy'"),
            ("LD_PRELOAD=/nowhere/lib.so", "there is no /nowhere/lib.so"),
            ("tokio@1.50.0", "switchcost duel tokio@1.50.0 ."),
            ("A=\u{1b}[0m", "control character"),
        ] {
            let error = text.parse::<Change>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn variables_of_cargo_and_rustc_make_a_build() {
        let is_of_build =
            |text: &str| text.parse::<Change>().unwrap().of_build().map(|(name, _)| name.len());
        for text in ["RUSTFLAGS=-O", "CARGO_PROFILE_RELEASE_LTO=fat", "RUSTC_WRAPPER=x"] {
            assert_eq!(is_of_build(text), text.find('='), "{text}");
        }
        for text in ["RUST_BACKTRACE=1", "A=CARGO_X", "cpus=0", "flags=--cargo 1"] {
            assert_eq!(is_of_build(text), None, "{text}");
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
            let mut command = Command { flags: words(flags), ..Command::default() };
            "flags=--workers 4".parse::<Change>().unwrap().put_into(&mut command);
            assert_eq!(command.flags.join(" "), expected);
        }
    }

    #[test]
    fn flags_that_a_row_has_in_any_order_are_no_change() {
        let flags = "--b 2 --quiet --a 1".split(' ').map(str::to_owned).collect();
        let command = Command { flags, ..Command::default() };
        let has = |change: &str| change.parse::<Change>().unwrap().obstacle(&command).is_some();
        assert!(has("flags=--a 1 --b 2") && has("flags=--quiet") && has("flags=--b 2"));
        assert!(!has("flags=--a 2 --b 1") && !has("flags=--a 1 --c"));
    }
}
