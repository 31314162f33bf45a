//! The build that this runner is part of. The build script finds out; this hands it on.

use serde::{Deserialize, Serialize};

use crate::differ;

/// The build of the runner, which programs of the same workspace share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Build {
    /// `rustc -V` of the compiler.
    pub rustc: Option<String>,
    /// `debug` or `release`. A custom profile shows the one it inherits from.
    pub profile: Option<String>,
    /// Flags of the compiler by RUSTFLAGS or cargo's configuration, or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rustflags: Option<String>,
    /// Target triple.
    pub target: Option<String>,
    /// Version of the workspace's packages.
    pub package_version: Option<String>,
    /// Full hash of the commit checked out; absent in a source archive.
    pub git_revision: Option<String>,
    /// Uncommitted changes in sources, manifests or the lock file. Documents, tests, scripts and
    /// results do not count.
    pub dirty: Option<bool>,
    /// Version of Tokio in `Cargo.lock`; several are joined by commas.
    pub tokio: Option<String>,
}

impl Build {
    /// Names of the facts that differ, if both builds know them.
    ///
    /// `dirty` is named when either tree is: two dirty trees at one revision may differ.
    pub fn same_build(&self, other: &Self) -> Vec<&'static str> {
        let facts = [
            ("rustc", &self.rustc, &other.rustc),
            ("profile", &self.profile, &other.profile),
            ("rustflags", &self.rustflags, &other.rustflags),
            ("target", &self.target, &other.target),
            ("package_version", &self.package_version, &other.package_version),
            ("git_revision", &self.git_revision, &other.git_revision),
            ("tokio", &self.tokio, &other.tokio),
        ];
        let dirty = self.dirty == Some(true) || other.dirty == Some(true);
        facts
            .into_iter()
            .map(|(name, one, two)| (name, differ(one, two)))
            .chain([("dirty", dirty)])
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect()
    }
}

/// Flags of the compiler as cargo takes them in CARGO_ENCODED_RUSTFLAGS.
pub const ENCODED_RUSTFLAGS: Option<&str> = option_env!("FACTS_BUILD_RUSTFLAGS");

/// Build of this workspace, as far as the build script could tell: its revision is known to whoever
/// knows the checkout.
pub fn current() -> Build {
    let known = |value: Option<&str>| value.map(str::to_owned);
    Build {
        rustc: known(option_env!("FACTS_BUILD_RUSTC")),
        profile: known(option_env!("FACTS_BUILD_PROFILE")),
        rustflags: ENCODED_RUSTFLAGS.map(|flags| {
            if flags.is_empty() { "none".to_owned() } else { flags.replace('\u{1f}', " ") }
        }),
        target: known(option_env!("FACTS_BUILD_TARGET")),
        package_version: known(Some(env!("CARGO_PKG_VERSION"))),
        tokio: known(option_env!("FACTS_BUILD_TOKIO")),
        ..Build::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_facts_do_not_differ_and_a_dirty_tree_does() {
        let one = Build {
            rustc: Some("rustc 1.95.0".to_owned()),
            tokio: Some("1.54.1".to_owned()),
            ..Build::default()
        };
        let mut other = Build { tokio: Some("1.50.0".to_owned()), ..Build::default() };
        assert_eq!(one.same_build(&other), ["tokio"]);
        other.dirty = Some(true);
        assert_eq!(one.same_build(&other), ["tokio", "dirty"]);
        assert!(one.same_build(&one).is_empty());
    }

    #[test]
    fn the_compiler_is_known() {
        let build = current();
        assert!(build.rustc.is_some_and(|rustc| rustc.starts_with("rustc ")));
        assert!(build.target.is_some() && build.tokio.is_some() && build.rustflags.is_some());
    }
}
