//! Keeps private texts out of results files: the names of the user and the host, and paths outside the working folder.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::PathBuf;

use facts::{Build, Process, Row, Run};
use nix::unistd::{User, getuid};

/// Folders whose paths are the same on all machines.
const PUBLIC: [&str; 8] = ["/bin", "/dev", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"];

/// Names of users and hosts that tell nothing.
const COMMON: [&str; 9] =
    ["admin", "build", "debian", "localhost", "root", "runner", "ubuntu", "user", "vm"];

/// Replaces private texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Privacy {
    /// Folders and their replacements; the name of a folder may hold blanks.
    folders: Vec<(String, &'static str)>,
    /// Names of the user and the host.
    names: Vec<String>,
}

impl Privacy {
    pub(super) fn of_this_process() -> Self {
        let user = User::from_uid(getuid()).ok().flatten();
        let home = user.as_ref().map(|user| user.dir.clone());
        let name = user.map(|user| user.name).into_iter().chain(env::var("USER").ok());
        let host = fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let host = host.map(|host| host.trim().to_owned());
        Privacy::new(
            env::current_dir().ok(),
            home.into_iter().chain(env::var_os("HOME").map(PathBuf::from)),
            name.chain(host),
        )
    }

    fn new(
        here: Option<PathBuf>,
        homes: impl Iterator<Item = PathBuf>,
        names: impl Iterator<Item = String>,
    ) -> Self {
        let folder = |path: PathBuf, instead| Some((path.to_str()?.to_owned(), instead));
        let here = here.into_iter().filter_map(|path| folder(path, "."));
        let folders = here.chain(homes.filter_map(|path| folder(path, "/~")));
        // `/` is the home of some users, and the working folder of some services.
        let folders = folders.filter(|(path, _)| path.len() > 1).collect();
        let names = names.filter(|name| name.len() > 1 && !COMMON.contains(&&**name)).collect();
        Privacy { folders, names }
    }

    /// Hides what is private in a header: every text that a user may have typed.
    pub(super) fn run(&self, run: &mut Run) {
        let Run { command, sides, build, .. } = run;
        let Build { rustflags, .. } = build;
        let texts = [command].into_iter().chain(sides.iter_mut().flatten()).chain(rustflags);
        texts.for_each(|text| self.hide(text));
    }

    /// Hides what is private in a row.
    pub(super) fn row(&self, row: &mut Row) {
        let Row { program, args, setting, .. } = row;
        let texts = [program].into_iter().chain(args).chain(setting);
        texts.for_each(|text| self.hide(text));
    }

    /// Hides what is private in a process: every text that a program or the system may have said.
    pub(super) fn process(&self, process: &mut Process) {
        let Process { left_behind, error, not_run, stderr, .. } = process;
        let texts = [left_behind, error, not_run, stderr];
        texts.into_iter().flatten().for_each(|text| self.hide(text));
    }

    fn hide(&self, text: &mut String) {
        for (folder, instead) in &self.folders {
            *text = replaced(text, folder, instead);
        }
        *text = self.without_paths_and_names(&without_logins(text));
    }

    /// Shortens each path outside the working folder to its last name, and hides names. Paths that are the same on all
    /// machines stay.
    fn without_paths_and_names(&self, text: &str) -> String {
        let is_gap = |c: char| c.is_whitespace() || "'\"`()[]{}<>|,;:=".contains(c);
        let mut result = String::new();
        let mut rest = text;
        while let Some(length) = rest.find(|c| !is_gap(c)) {
            result += &rest[..length];
            rest = &rest[length..];
            // A quoted path may hold blanks.
            let quote = result.chars().last();
            let quote = quote.filter(|c| rest.starts_with('/') && "'\"`".contains(*c));
            let end = quote.map_or_else(|| rest.find(is_gap), |quote| rest.find(quote));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            let is_url = result.ends_with(':') && word.starts_with("//");
            let mut word = match word.trim_end_matches('/').rsplit_once('/') {
                _ if is_public(word) => Cow::Borrowed(word),
                Some((_, name)) if leads_out(word) && !is_url => format!("…/{name}").into(),
                _ => Cow::Borrowed(word),
            };
            if !is_public(&word) {
                for name in &self.names {
                    word = replaced(&word, name, "…").into();
                }
            }
            result += &word;
            rest = after;
        }
        result + rest
    }
}

/// Replaces a word or a folder, unless it is part of a longer word.
fn replaced(text: &str, word: &str, instead: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let is_alone = !before.ends_with(is_part) && !after.starts_with(is_part);
        result += before;
        result += if is_alone { instead } else { word };
        rest = after;
    }
    result + rest
}

/// Removes user names and passwords from URLs.
fn without_logins(text: &str) -> String {
    let mut parts = text.split("://");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        let is_end = |c: char| c.is_whitespace() || "/'\"".contains(c);
        let host = &part[..part.find(is_end).unwrap_or(part.len())];
        before + "://" + &part[host.rfind('@').map_or(0, |at| at + 1)..]
    })
}

/// True for a path outside of the working folder.
fn leads_out(path: &str) -> bool {
    path.starts_with("../") || path.starts_with('/')
}

/// True for a path that is the same on all machines.
fn is_public(path: &str) -> bool {
    PUBLIC.iter().any(|folder| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_is_not_kept_and_what_was_measured_is() {
        let privacy = Privacy::new(
            Some("/home/alice smith/work".into()),
            ["/home/alice smith".into()].into_iter(),
            ["alice", "root", "tower"].map(str::to_owned).into_iter(),
        );
        for (text, expected) in [
            ("run --plan peers --budget 4m", "run --plan peers --budget 4m"),
            ("--plan '/home/alice smith/x/mine.toml' -q", "--plan '…/mine.toml' -q"),
            ("--a /srv/deep/tokio --b .", "--a …/tokio --b ."),
            ("/home/alice smith/work/target/p: No such file", "./target/p: No such file"),
            ("--plan=../other/mine.toml", "--plan=…/mine.toml"),
            ("\"/data/my things/x\" is a folder", "\"…/x\" is a folder"),
            ("LD_PRELOAD=/opt/a/b.so:/opt/c/", "LD_PRELOAD=…/b.so:…/c"),
            ("echo 0 > /sys/kernel/mm/x; /usr/bin/env", "echo 0 > /sys/kernel/mm/x; /usr/bin/env"),
            ("/system", "…/system"),
            (
                "tokio@git:https://bob:pass@example.org/t#main",
                "tokio@git:https://example.org/t#main",
            ),
            ("tokio@1.50.0 (tokio 1.50.0)", "tokio@1.50.0 (tokio 1.50.0)"),
            ("alice at tower: malice needs root", "… at …: malice needs root"),
            ("/sys/tower/x of tower/y", "/sys/tower/x of …/y"),
            ("3 / 4 = 0.75, a/b, //", "3 / 4 = 0.75, a/b, //"),
            ("", ""),
        ] {
            let mut hidden = text.to_owned();
            privacy.hide(&mut hidden);
            assert_eq!(hidden, expected, "{text}");
        }
    }
}
