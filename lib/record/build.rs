//! Writes down the build for `record::build`: the compiler and its flags, the profile, the target and the version of
//! Tokio. A fact that cannot be found is not set; nothing here fails the build.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    set("RUSTC", rustc_version());
    set("PROFILE", env::var("PROFILE").ok());
    set("TARGET", env::var("TARGET").ok());
    set("RUSTFLAGS", env::var("CARGO_ENCODED_RUSTFLAGS").ok());
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    println!("cargo::rerun-if-changed={lock}");
    set("TOKIO", locked_version(Path::new(lock), "tokio"));
}

fn set(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env=RECORD_BUILD_{name}={}", value.trim());
    }
}

fn rustc_version() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("-V").output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}

/// Version of a package in the lock file; several are joined by commas.
fn locked_version(lock: &Path, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let lock = fs::read_to_string(lock).ok()?;
    let packages = lock.split("[[package]]").filter(|p| p.lines().any(|line| line == name));
    let versions: Vec<&str> = packages
        .filter_map(|p| p.lines().find_map(|line| line.strip_prefix("version = ")))
        .map(|version| version.trim_matches('"'))
        .collect();
    (!versions.is_empty()).then(|| versions.join(","))
}
