//! Writes down the build for `observe::build`: the compiler, the profile, the revision, uncommitted
//! changes, and the version of Tokio. A fact that cannot be found is not set; nothing here fails the
//! build.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files of the workspace that every build depends on.
const SHARED_INPUTS: [&str; 5] =
    ["Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml", ".cargo"];

/// Files of each member. Its tests are not part of the programs.
const MEMBER_INPUTS: [&str; 3] = ["Cargo.toml", "build.rs", "src"];

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = own.ancestors().nth(2).unwrap_or(&own);
    let inputs = inputs(root);
    // Cargo takes a path that does not exist for one that has changed.
    for input in inputs.iter().map(|input| root.join(input)) {
        watch(&input);
    }
    set("RUSTC", rustc_version());
    set("PROFILE", env::var("PROFILE").ok());
    set("OPT_LEVEL", env::var("OPT_LEVEL").ok());
    set("TARGET", env::var("TARGET").ok());
    set("TOKIO", locked_version(root, "tokio"));

    // Unpacked inside another repository, that one's revision says nothing about this workspace.
    if git(root, &["ls-files", "--error-unmatch", "Cargo.toml"]).is_some() {
        watch_revision(root);
        set("REVISION", git(root, &["rev-parse", "--verify", "HEAD"]));
        set("DIRTY", dirty(root, &inputs).map(|dirty| dirty.to_string()));
    }
}

fn set(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env=OBSERVE_BUILD_{name}={}", value.trim());
    }
}

fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Paths below the workspace that decide what is built, whether they exist or not: a deleted file is
/// a change too.
fn inputs(root: &Path) -> Vec<String> {
    let mut inputs: Vec<String> = SHARED_INPUTS.map(str::to_owned).into();
    for folder in ["", "lib/"] {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        let mut members: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().join("Cargo.toml").is_file())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        members.sort_unstable();
        for member in members {
            inputs.extend(MEMBER_INPUTS.map(|part| format!("{folder}{member}/{part}")));
        }
    }
    inputs
}

fn rustc_version() -> Option<String> {
    let mut command = Command::new(env::var_os("RUSTC")?);
    output(command.arg("-V"))
}

/// Version of a package in the lock file; several are joined by commas.
fn locked_version(root: &Path, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let lock = fs::read_to_string(root.join("Cargo.lock")).ok()?;
    let versions: Vec<&str> = lock
        .split("[[package]]")
        .filter(|package| package.lines().any(|line| line == name))
        .filter_map(|package| {
            let mut lines = package.lines();
            let version = lines.find_map(|line| line.strip_prefix("version = "))?;
            Some(version.trim_matches('"'))
        })
        .collect();
    (!versions.is_empty()).then(|| versions.join(","))
}

/// Watches what changes with the branch and with every commit.
fn watch_revision(root: &Path) {
    for name in ["HEAD", "logs/HEAD", "refs/heads", "packed-refs"] {
        if let Some(path) = git(root, &["rev-parse", "--git-path", name]) {
            watch(&root.join(path));
        }
    }
}

/// Changes of tracked files: a new file has no effect until a tracked one names it.
fn dirty(root: &Path, inputs: &[String]) -> Option<bool> {
    let mut arguments = vec!["status", "--porcelain", "--untracked-files=no", "--"];
    arguments.extend(inputs.iter().map(String::as_str));
    git(root, &arguments).map(|changes| !changes.is_empty())
}

/// Output of git; `None` if it fails, is absent, or there is no repository.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // A hook that runs cargo has these set to its own repository and index.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command
        .current_dir(root)
        // `status` would rewrite the index.
        .arg("--no-optional-locks")
        .arg("--literal-pathspecs")
        .args(arguments);
    output(&mut command)
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end_matches('\n').to_owned())
}
