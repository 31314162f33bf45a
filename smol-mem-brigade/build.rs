//! Finds the exact version of async-executor in the lock file. Where it cannot, the version is unknown.

use std::env;
use std::fs;
use std::path::PathBuf;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let lock = here.join("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock).unwrap_or_default();
    let version = text
        .split("[[package]]")
        .filter(|package| package.contains("name = \"async-executor\"\n"))
        .find_map(|package| package.split("version = \"").nth(1)?.split('"').next());
    if let Some(version) = version {
        println!("cargo::rustc-env=EXECUTOR_VERSION={version}");
    }
}
