//! The build that this runner is part of. The build script finds out; this hands it on.

use serde::{Deserialize, Serialize};

/// The build of the runner, which programs of the same workspace share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Build {
    /// `rustc -V` of the compiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rustc: Option<String>,
    /// `debug` or `release`. A custom profile shows the one it inherits from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Flags of the compiler by RUSTFLAGS or cargo's configuration, or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rustflags: Option<String>,
    /// Target triple.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Version of the workspace's packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_version: Option<String>,
    /// Full hash of the commit checked out; absent in a source archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_revision: Option<String>,
    /// Uncommitted changes in sources, manifests or the lock file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    /// Version of Tokio in `Cargo.lock`; several are joined by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokio: Option<String>,
}

impl Build {
    /// Names of the facts that differ, if both builds know them; `dirty` if either tree is.
    pub fn same_build(&self, other: &Self) -> Vec<String> {
        let [one, other_facts] =
            [self, other].map(|build| serde_json::to_value(build).unwrap_or_default());
        let facts = one.as_object().into_iter().flatten();
        let differing = facts.filter(|&(name, fact)| {
            let other = &other_facts[name];
            name != "dirty" && !fact.is_null() && !other.is_null() && fact != other
        });
        let mut names: Vec<String> = differing.map(|(name, _)| name.clone()).collect();
        let is_dirty = self.dirty == Some(true) || other.dirty == Some(true);
        names.extend(is_dirty.then(|| "dirty".to_owned()));
        names
    }
}

/// Flags of the compiler as cargo takes them in CARGO_ENCODED_RUSTFLAGS.
pub const ENCODED_RUSTFLAGS: Option<&str> = option_env!("RECORD_BUILD_RUSTFLAGS");

/// Build of this workspace, as far as the build script could tell.
pub fn current() -> Build {
    let known = |value: Option<&str>| value.map(str::to_owned);
    Build {
        rustc: known(option_env!("RECORD_BUILD_RUSTC")),
        profile: known(option_env!("RECORD_BUILD_PROFILE")),
        rustflags: ENCODED_RUSTFLAGS.map(|flags| {
            if flags.is_empty() { "none".to_owned() } else { flags.replace('\u{1f}', " ") }
        }),
        target: known(option_env!("RECORD_BUILD_TARGET")),
        package_version: known(Some(env!("CARGO_PKG_VERSION"))),
        tokio: known(option_env!("RECORD_BUILD_TOKIO")),
        ..Build::default()
    }
}
