//! Finds Tokio's exact version in the lock file. If it cannot, the version is unknown.

use std::env;
use std::fs;
use std::path::PathBuf;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    // Not by `..`: a side of a duel has a lock file of its own beside links to the sources.
    let lock = here.ancestors().nth(2).unwrap_or(&here).join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock).unwrap_or_default();
    let version = text
        .split("[[package]]")
        .filter(|package| package.contains("name = \"tokio\"\n"))
        .find_map(|package| package.split("version = \"").nth(1)?.split('"').next());
    if let Some(version) = version {
        println!("cargo::rustc-env=TOKIO_VERSION={version}");
    }
}
