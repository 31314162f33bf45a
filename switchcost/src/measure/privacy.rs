//! Keeps the names of the user and the host out of results files, and where the working folder and the home folder are.

use std::env;
use std::fs;

use nix::unistd::getuid;
use record::{Command, Run, Trial};
use serde_json::Value;

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
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let uid = getuid().to_string();
        // name:password:uid:gid:comment:home:shell, as passwd(5) has it.
        let mut users = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let user = users.find(|fields| fields.get(2) == Some(&&*uid)).unwrap_or_default();
        let [name, home] = [0, 5].map(|field| user.get(field).map(|text| (*text).to_owned()));
        let here =
            env::current_dir().ok().and_then(|path| path.into_os_string().into_string().ok());
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().to_owned();
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
        let before = sides.clone();
        let texts = [command].into_iter().chain(sides.iter_mut().flatten());
        texts.for_each(|text| *text = self.hidden(text));
        if let (Some([a, b]), Some([first, second])) = (sides, before)
            && a == b
            && first != second
        {
            *a += " (the first of that name)";
            *b += " (the second of that name)";
        }
        if let Some(Value::String(flags)) = build.get_mut("rustflags") {
            *flags = self.hidden(flags);
        }
    }

    /// Hides folders in a command: a name may be the word by which a program or a flag is known.
    fn command(&self, command: &mut Command) {
        let Command { program, flags, setting } = command;
        let texts = [program].into_iter().chain(flags).chain(setting.env.values_mut());
        texts.chain(&mut setting.wrap).for_each(|text| *text = self.without_folders(text));
    }

    /// Hides what is private in a trial.
    pub(super) fn trial(&self, trial: &mut Trial) {
        if let Some(said) = &mut trial.description {
            said.program = self.without_folders(&said.program);
            said.version = self.hidden(&said.version);
            said.notes.iter_mut().for_each(|note| *note = self.hidden(note));
        }
        let Trial { left_behind, error, not_run, stderr, .. } = trial;
        let texts = [left_behind, error, not_run, stderr].into_iter().flatten();
        texts.for_each(|text| *text = self.hidden(text));
    }

    fn hidden(&self, text: &str) -> String {
        let text = self.without_folders(&without_logins(text));
        self.names.iter().fold(text, |text, name| replaced(&text, name, "…"))
    }

    fn without_folders(&self, text: &str) -> String {
        self.folders
            .iter()
            .fold(text.to_owned(), |text, (folder, instead)| replaced(&text, folder, instead))
    }
}

/// Replaces a text wherever it is no part of a longer word.
fn replaced(text: &str, old: &str, new: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        result += before;
        let begins = old.starts_with('/') || !before.ends_with(is_part);
        result += if begins && !after.starts_with(is_part) { new } else { old };
        rest = after;
    }
    result + rest
}

/// Removes user names and passwords from URLs.
fn without_logins(text: &str) -> String {
    let mut parts = text.split("://");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        let host = part.split([' ', '/', '\'', '"']).next().unwrap_or_default();
        before + "://" + &part[host.rfind('@').map_or(0, |at| at + 1)..]
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "_-".contains(c)
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
            ("--plan '/home/alice smith/x/mine.toml' -q", "--plan '~/x/mine.toml' -q"),
            ("/home/alice smith/clone/target/p: No such file", "./target/p: No such file"),
            ("/home/alice smith/clone-old/x", "~/clone-old/x"),
            ("-L/home/alice smith/lib", "-L~/lib"),
            ("git:https://bob:pass@example.org/t#main", "git:https://example.org/t#main"),
            ("alice at tower: malice needs root", "… at …: malice needs root"),
            ("3 / 4 = 0.75, a/b, //", "3 / 4 = 0.75, a/b, //"),
            ("", ""),
        ] {
            assert_eq!(privacy().hidden(text), expected, "{text}");
        }
    }

    #[test]
    fn a_program_and_its_flags_keep_their_names() {
        let flags =
            ["--tower", "tower", "--on=/home/alice smith/tower"].map(str::to_owned).to_vec();
        let program = "alice".to_owned();
        let mut command = Command { program, flags, ..Command::default() };
        privacy().command(&mut command);
        let flags = ["--tower", "tower", "--on=~/tower"].map(str::to_owned).to_vec();
        assert_eq!((&*command.program, command.flags), ("alice", flags));
    }
}
