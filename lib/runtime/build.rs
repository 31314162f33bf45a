//! Finds the exact versions of runtimes in the lock file. If it cannot, a version is unknown.

use std::env;
use std::fs;
use std::path::PathBuf;

/// Crates, and the variables that their versions are compiled in by.
const RUNTIMES: [(&str, &str); 1] = [("tokio", "TOKIO_VERSION")];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let lock = here.join("../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock).unwrap_or_default();
    for (name, variable) in RUNTIMES {
        let version = text
            .split("[[package]]")
            .filter(|package| package.contains(&format!("name = \"{name}\"\n")))
            .find_map(|package| package.split("version = \"").nth(1)?.split('"').next());
        if let Some(version) = version {
            println!("cargo::rustc-env={variable}={version}");
        }
    }
}
