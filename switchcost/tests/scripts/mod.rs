//! The shell scripts of `scripts/`.

mod ci;
mod rss;

use std::path::{Path, PathBuf};

use crate::support::house::executable;
use crate::support::process::Run;
use crate::support::{is_installed, skip};

/// Whether these can be run; says so if not.
fn can_run(tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| !is_installed(tool));
    if let Some(tool) = missing {
        skip(&format!("{tool} is not installed"));
    }
    missing.is_none()
}

fn path_of(script: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    workspace.join("scripts").join(script)
}

/// A run of a script.
fn script(name: &str, flags: &str) -> Run {
    Run::of(path_of(name)).flags(flags)
}

/// A run of a script that a shell prepares.
fn within(preparation: &str, name: &str, flags: &str) -> Run {
    Run::within(preparation, &path_of(name)).flags(flags)
}

#[test]
fn a_tool_that_is_missing_is_named() {
    // Links to these are all of PATH.
    let link =
        "for tool in bash env dirname readlink grep cat; do ln -s $(command -v $tool) .; done";
    let folder = tempfile::tempdir().unwrap();
    Run::of("sh").arg("-c").arg(link).folder(folder.path()).finish().expect(0);
    let path = format!(r#"PATH='{}' exec "$0" "$@""#, folder.path().display());
    for (name, code, words) in [
        ("archive.sh", 1, ["cargo is not installed", "rustup.rs"]),
        ("rss-per-thread.sh", 1, ["pmap", "package procps"]),
    ] {
        within(&path, name, "").finish().expect_refusal(code, &words);
    }
}
