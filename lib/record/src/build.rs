//! The build that this runner is part of. The build script finds out; this hands it on.

use std::collections::BTreeMap;

use serde_json::Value;

/// Facts of the runner's build, which programs of the same workspace share: `rustc`, `profile` (a custom one shows the one
/// it inherits from), `rustflags`, `target`, `package_version`, `git_revision` (absent in a source archive), `dirty` (if the
/// sources, manifests or the lock file had uncommitted changes) and `tokio`. A fact that is not known is absent.
pub type Build = BTreeMap<String, Value>;

/// Flags of the compiler as cargo takes them in CARGO_ENCODED_RUSTFLAGS.
pub const ENCODED_RUSTFLAGS: Option<&str> = option_env!("RECORD_BUILD_RUSTFLAGS");

/// Build of this workspace, as far as the build script could tell.
pub fn current() -> Build {
    let flags = ENCODED_RUSTFLAGS.map(|flags| {
        if flags.is_empty() { "none".to_owned() } else { flags.replace('\u{1f}', " ") }
    });
    let facts = [
        ("rustc", option_env!("RECORD_BUILD_RUSTC")),
        ("profile", option_env!("RECORD_BUILD_PROFILE")),
        ("rustflags", flags.as_deref()),
        ("target", option_env!("RECORD_BUILD_TARGET")),
        ("package_version", Some(env!("CARGO_PKG_VERSION"))),
        ("tokio", option_env!("RECORD_BUILD_TOKIO")),
    ];
    let known = facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?.into())));
    known.collect()
}
