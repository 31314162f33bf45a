//! What the programs were built from. The build script finds out; this hands it on.

use serde::{Deserialize, Serialize};

/// How this program was built. Unknown facts are `None`: a source archive has no revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Build {
    /// `rustc -V` of the compiler.
    pub rustc: Option<String>,
    /// `debug` or `release`. A custom profile shows the one it inherits from.
    pub profile: Option<String>,
    /// `opt-level` of the profile: `0` to `3`, `s` or `z`.
    pub opt_level: Option<String>,
    /// Target triple.
    pub target: Option<String>,
    /// Version of the workspace's packages.
    pub package_version: Option<String>,
    /// Full hash of the commit checked out.
    pub git_revision: Option<String>,
    /// Whether the sources, manifests or lock file differ from that commit. Documentation,
    /// tests, scripts and results do not count: the programs are the same without them.
    pub dirty: Option<bool>,
    /// Version of Tokio in `Cargo.lock`; several, joined by commas, if it holds several.
    pub tokio: Option<String>,
}

/// The exact version of a runtime in `Cargo.lock` when this program was built: of `io-uring`,
/// `compio` or `async-executor`. That of Tokio is in [`Build`], and so in every record.
pub fn runtime_version(package: &str) -> Option<String> {
    let version = match package {
        "io-uring" => option_env!("HARNESS_BUILD_IO_URING"),
        "compio" => option_env!("HARNESS_BUILD_COMPIO"),
        "async-executor" => option_env!("HARNESS_BUILD_ASYNC_EXECUTOR"),
        _ => None,
    };
    version.map(str::to_owned)
}

impl Build {
    /// The build that this program is part of.
    pub fn current() -> Self {
        let known = |value: Option<&str>| value.map(str::to_owned);
        Self {
            rustc: known(option_env!("HARNESS_BUILD_RUSTC")),
            profile: known(option_env!("HARNESS_BUILD_PROFILE")),
            opt_level: known(option_env!("HARNESS_BUILD_OPT_LEVEL")),
            target: known(option_env!("HARNESS_BUILD_TARGET")),
            package_version: known(Some(env!("CARGO_PKG_VERSION"))),
            git_revision: known(option_env!("HARNESS_BUILD_REVISION")),
            dirty: option_env!("HARNESS_BUILD_DIRTY").and_then(|word| word.parse().ok()),
            tokio: known(option_env!("HARNESS_BUILD_TOKIO")),
        }
    }

    /// Names the facts that differ between two builds, where both know them.
    ///
    /// Two dirty trees at one revision may differ or not; nothing tells, so `dirty` is named
    /// when either side is.
    pub fn same_build(&self, other: &Self) -> Vec<&'static str> {
        let facts = [
            ("rustc", &self.rustc, &other.rustc),
            ("profile", &self.profile, &other.profile),
            ("opt_level", &self.opt_level, &other.opt_level),
            ("target", &self.target, &other.target),
            (
                "package_version",
                &self.package_version,
                &other.package_version,
            ),
            ("git_revision", &self.git_revision, &other.git_revision),
            ("tokio", &self.tokio, &other.tokio),
        ];
        let dirty = self.dirty == Some(true) || other.dirty == Some(true);
        facts
            .into_iter()
            .map(|(name, one, two)| (name, super::differ(one, two)))
            .chain([("dirty", dirty)])
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect()
    }
}
