//! Writes down what the programs are built from, for `machine::Build`: the compiler, the
//! profile, the revision and whether the tree differs from it, and the versions of the runtimes.
//!
//! A fact that cannot be found is not set, and reads as unknown. Nothing here fails the build.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the workspace itself contributes to a build, beside its members.
const SHARED_INPUTS: [&str; 5] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".cargo",
];

/// What each member contributes. Its tests are not part of the programs.
const MEMBER_INPUTS: [&str; 3] = ["Cargo.toml", "build.rs", "src"];

fn main() {
    let harness = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = harness.parent().unwrap_or(&harness);
    let inputs = inputs(root);

    // The inputs judged are the inputs watched, so that what is said of them is never stale.
    for input in &inputs {
        watch(&root.join(input));
    }
    set("RUSTC", rustc_version());
    set("PROFILE", env::var("PROFILE").ok());
    set("OPT_LEVEL", env::var("OPT_LEVEL").ok());
    set("TARGET", env::var("TARGET").ok());
    for (name, package) in [
        ("TOKIO", "tokio"),
        ("IO_URING", "io-uring"),
        ("COMPIO", "compio"),
        ("ASYNC_EXECUTOR", "async-executor"),
    ] {
        set(name, locked_version(root, package));
    }

    // Unpacked inside somebody else's repository, that one's revision says nothing of us.
    let tracked = git(root, &["ls-files", "--error-unmatch", "Cargo.toml"]).is_some();
    let at_top = git(root, &["rev-parse", "--show-prefix"]).is_some_and(|path| path.is_empty());
    if tracked || at_top {
        watch_revision(root);
    }
    let revision = git(root, &["rev-parse", "--verify", "HEAD"]).filter(|_| tracked);
    if let Some(revision) = revision {
        set("REVISION", Some(revision));
        set("DIRTY", dirty(root, &inputs).map(|dirty| dirty.to_string()));
    }
}

fn set(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env=HARNESS_BUILD_{name}={}", value.trim());
    }
}

/// Cargo takes a path that does not exist for one that has changed, and would run this script
/// in every build.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Paths that decide what is built, relative to the workspace, whether they exist or not: a
/// deleted one is a difference too.
fn inputs(root: &Path) -> Vec<String> {
    let mut inputs: Vec<String> = SHARED_INPUTS.map(str::to_owned).into();
    let members: BTreeSet<String> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    for member in members {
        inputs.extend(MEMBER_INPUTS.map(|part| format!("{member}/{part}")));
    }
    inputs
}

fn rustc_version() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?)
        .arg("-V")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !version.trim().is_empty()).then_some(version)
}

/// The version of a package in the lock file; several, joined by commas, if it holds several.
fn locked_version(root: &Path, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let lock = fs::read_to_string(root.join("Cargo.lock")).ok()?;
    let versions: Vec<&str> = lock
        .split("[[package]]")
        .filter(|package| package.lines().any(|line| line == name))
        .filter_map(|package| {
            let version = package
                .lines()
                .find_map(|line| line.strip_prefix("version = "))?;
            Some(version.trim_matches('"'))
        })
        .collect();
    (!versions.is_empty()).then(|| versions.join(","))
}

/// `HEAD` changes with the branch and its log with every commit. Without a log (before the first
/// commit, or where none is kept) the branches themselves are watched.
fn watch_revision(root: &Path) {
    let path = |name| Some(root.join(git(root, &["rev-parse", "--git-path", name])?));
    let log = path("logs/HEAD").filter(|log| log.exists());
    let moving = match log {
        Some(log) => vec![Some(log)],
        None => vec![path("refs/heads"), path("packed-refs")],
    };
    let head = path("HEAD");
    for file in moving.iter().chain([&head]).flatten() {
        watch(file);
    }
}

fn dirty(root: &Path, inputs: &[String]) -> Option<bool> {
    let mut arguments = vec![
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--",
    ];
    arguments.extend(inputs.iter().map(String::as_str));
    let status = git(root, &arguments)?;
    Some(status.split('\0').any(|entry| {
        match entry.split_at_checked(3) {
            // An editor's swap file beside a source is not a source.
            Some(("?? ", path)) => [".rs", ".toml", ".lock"]
                .iter()
                .any(|end| path.ends_with(end)),
            Some(_) => true,
            None => false,
        }
    }))
}

/// What git prints, or nothing if it fails, is absent, or there is no repository.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // A hook that runs cargo has these set to mean its own repository and index.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command
        .current_dir(root)
        // `status` would rewrite the index to speed up the next one; a build should not.
        .arg("--no-optional-locks")
        .arg("--literal-pathspecs")
        .args(arguments)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| text.trim_end_matches('\n').to_owned())
}
