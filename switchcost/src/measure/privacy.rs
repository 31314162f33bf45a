//! Keeps private texts out of results files: the names of the user and the host, and paths outside the working folder.

use std::env;
use std::fs;

use nix::unistd::getuid;
use record::{Command, Run, Trial};
use serde_json::Value;

/// Folders with the same path on all machines.
const PUBLIC: [&str; 10] = [
    "/bin",
    "/dev/null",
    "/lib",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/sbin",
];

/// Names of users and hosts that tell nothing.
const COMMON: [&str; 9] =
    ["admin", "build", "debian", "localhost", "root", "runner", "ubuntu", "user", "vm"];

/// Variables that hold the name of the user.
const USERS: [&str; 3] = ["USER", "LOGNAME", "SUDO_USER"];

/// Replaces private texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Privacy {
    /// Folders and their replacements; the name of a folder may hold blanks.
    folders: Vec<(String, &'static str)>,
    names: Vec<String>,
}

impl Privacy {
    pub(super) fn of_this_process() -> Self {
        let text = |file| fs::read_to_string(file).unwrap_or_default();
        let (users, uid) = (text("/etc/passwd"), getuid().to_string());
        // name:password:uid:gid:comment:home:shell, as passwd(5) has it.
        let mut users = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let user = users.find(|fields| fields.get(2) == Some(&&*uid)).unwrap_or_default();
        let [name, home] = [0, 5].map(|field| user.get(field).map(|text| (*text).to_owned()));
        let here =
            env::current_dir().ok().and_then(|path| path.into_os_string().into_string().ok());
        let host = text("/proc/sys/kernel/hostname").trim().to_owned();
        let label = host.split('.').next().unwrap_or_default().to_owned();
        let users = USERS.iter().filter_map(|variable| env::var(variable).ok());
        let homes = home.into_iter().chain(env::var("HOME").ok()).map(|path| (path, "~"));
        let folders = here.into_iter().map(|path| (path, ".")).chain(homes);
        let names = name.into_iter().chain(users).chain([host, label]);
        Privacy {
            // `/` is the home of some users, and the working folder of some services.
            folders: folders.filter(|(path, _)| path.len() > 1).collect(),
            names: names.filter(|name| name.len() > 1 && !COMMON.contains(&&**name)).collect(),
        }
    }

    /// Hides what is private in a header, except in the titles of the plan.
    pub(super) fn run(&self, run: &mut Run) {
        run.rows.iter_mut().for_each(|row| self.command(&mut row.command));
        let Run { command, sides, build, .. } = run;
        let texts = [command].into_iter().chain(sides.iter_mut().flatten());
        texts.for_each(|text| *text = self.hidden(text));
        if let Some(Value::String(flags)) = build.get_mut("rustflags") {
            *flags = self.hidden(flags);
        }
    }

    /// Hides what is private in a command. A name may be the word by which a program or a flag is known.
    fn command(&self, command: &mut Command) {
        let Command { program, flags, setting } = command;
        let texts = [program].into_iter().chain(flags);
        texts.for_each(|text| *text = self.without_paths(text));
        // Between quotes, a path may hold blanks.
        for text in setting.env.values_mut().chain(&mut setting.wrap) {
            let hidden = self.hidden(&format!("'{text}'"));
            let inner = hidden.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
            *text = inner.map_or(hidden.clone(), str::to_owned);
        }
    }

    /// Hides what is private in a trial.
    pub(super) fn trial(&self, trial: &mut Trial) {
        if let Some(said) = &mut trial.description {
            said.program = self.without_paths(&said.program);
            said.version = self.hidden(&said.version);
            said.notes.iter_mut().for_each(|note| *note = self.hidden(note));
        }
        let Trial { left_behind, error, not_run, stderr, .. } = trial;
        let texts = [left_behind, error, not_run, stderr].into_iter().flatten();
        texts.for_each(|text| *text = self.hidden(text));
    }

    fn hidden(&self, text: &str) -> String {
        let text = self.without_paths(&without_logins(text));
        self.names.iter().fold(text, |text, name| {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            replaced(&text, name, "…", |before, after| {
                !before.ends_with(is_part) && !after.starts_with(is_part)
            })
        })
    }

    /// Shortens each path that leads out of the working folder to its last name. Paths that are the same on all
    /// machines stay.
    fn without_paths(&self, text: &str) -> String {
        let text = self.folders.iter().fold(text.to_owned(), |text, (folder, instead)| {
            replaced(&text, folder, instead, |_, after| {
                after.is_empty() || after.starts_with(|c| c == '/' || is_gap(c))
            })
        });
        let mut result = String::new();
        let mut rest = &*text;
        while let Some(length) = rest.find(|c| !is_gap(c)) {
            result += &rest[..length];
            rest = &rest[length..];
            // A quoted path may hold blanks.
            let quote = result.chars().last().filter(|c| "'\"`".contains(*c) && leads_out(rest));
            let end = quote.and_then(|quote| rest.find(quote)).or_else(|| rest.find(is_gap));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            let is_url =
                result.ends_with(':') && word.starts_with("//") && !word.starts_with("///");
            result += &if is_url { word.to_owned() } else { shortened(word) };
            rest = after;
        }
        result + rest
    }
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || "'\"`()[]{}<>|,;:=".contains(c)
}

/// Replaces a text where what is before and after allows it.
fn replaced(text: &str, old: &str, new: &str, allows: impl Fn(&str, &str) -> bool) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        result += before;
        result += if allows(before, after) { new } else { old };
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

/// A word with its path shortened; a flag such as `-L` may precede the path.
fn shortened(word: &str) -> String {
    let path = match word.find('/') {
        Some(at) if word.starts_with(['-', '@']) => at,
        _ => 0,
    };
    let (flag, path) = word.split_at(path);
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((_, name)) if leads_out(path) => format!("{flag}…/{name}"),
        _ => word.to_owned(),
    }
}

/// True for a path that leads out of the working folder, unless it is the same on all machines.
fn leads_out(path: &str) -> bool {
    let end = path.find(is_gap).unwrap_or(path.len());
    let climbs = path[..end].split('/').any(|name| name == "..");
    let is_public = |folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    climbs
        || path.starts_with('~')
        || path.starts_with('/') && !PUBLIC.iter().any(|folder| is_public(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn privacy() -> Privacy {
        let folders = [("/home/alice smith/clone", "."), ("/home/alice smith", "~")];
        Privacy {
            folders: folders.map(|(path, instead)| (path.to_owned(), instead)).to_vec(),
            names: ["alice", "tower"].map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn what_is_private_is_not_kept_and_what_was_measured_is() {
        for (text, expected) in [
            ("run --plan peers --budget 4m", "run --plan peers --budget 4m"),
            ("--plan '/home/alice smith/x/mine.toml' -q", "--plan '…/mine.toml' -q"),
            ("--a /srv/deep/tokio --b .", "--a …/tokio --b ."),
            ("/home/alice smith/clone/target/p: No such file", "./target/p: No such file"),
            ("/home/alice smith/clone-old/secret/x", "…/x"),
            ("--plan=../other/mine.toml", "--plan=…/mine.toml"),
            ("./../a/b target/../../c/d ~/e/f ~bob/g/h", "…/b …/d …/f …/h"),
            ("\"/data/my things/x\" is a folder", "\"…/x\" is a folder"),
            ("LD_PRELOAD=/opt/a/b.so:/opt/c/", "LD_PRELOAD=…/b.so:…/c"),
            ("-L/srv/deep/lib -I ../x/y @/srv/deep/args", "-L…/lib -I …/y @…/args"),
            ("echo 0 > /sys/kernel/mm/x; /usr/bin/env", "echo 0 > /sys/kernel/mm/x; /usr/bin/env"),
            ("'/usr/bin/env X=/srv/deep/x alice'", "'/usr/bin/env X=…/x …'"),
            ("/usr/../home/bob/x /system", "…/x …/system"),
            ("git:https://bob:pass@example.org/t#main", "git:https://example.org/t#main"),
            ("file:///srv/deep/x", "file:…/x"),
            ("tokio@1.50.0 (tokio 1.50.0)", "tokio@1.50.0 (tokio 1.50.0)"),
            ("alice at tower: malice needs root", "… at …: malice needs root"),
            ("3 / 4 = 0.75, a/b, //", "3 / 4 = 0.75, a/b, //"),
            ("", ""),
        ] {
            assert_eq!(privacy().hidden(text), expected, "{text}");
        }
    }

    #[test]
    fn a_program_and_its_flags_keep_their_names() {
        let flags = ["--tower", "tower", "--on=/srv/alice/tower"].map(str::to_owned).to_vec();
        let program = "alice-brigade".to_owned();
        let mut command = Command { program, flags, ..Command::default() };
        let path = "/srv/deep folder/lib.so".to_owned();
        command.setting.env.insert("LD_PRELOAD".to_owned(), path);
        privacy().command(&mut command);
        assert_eq!(command.setting.env["LD_PRELOAD"], "…/lib.so");
        assert_eq!(
            (&*command.program, &command.flags[..]),
            ("alice-brigade", &["--tower", "tower", "--on=…/tower"].map(str::to_owned)[..])
        );
    }
}
