//! Writes down the commit, for `--version` and for the records of an executable that is installed alone. Without git,
//! or outside a repository of these sources, there is none; nothing here fails the build.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_ours = git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_some();
    let commit = git(&["rev-parse", "--verify", "HEAD"]).filter(|_| is_ours);
    // Each commit and each checkout adds a line.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| is_ours && Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let mut version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    if let Some(commit) = commit {
        println!("cargo::rustc-env=SWITCHCOST_COMMIT={commit}");
        version += &format!(" ({})", commit.get(..12).unwrap_or(&commit));
    }
    println!("cargo::rustc-env=SWITCHCOST_VERSION={version}");
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned())
}
