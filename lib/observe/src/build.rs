//! The build that this runner is part of. The build script finds out; this hands it on.

use record::Build;

/// Build of this workspace, as far as the build script could tell: its revision is known to whoever
/// knows the checkout.
pub fn current() -> Build {
    let known = |value: Option<&str>| value.map(str::to_owned);
    Build {
        rustc: known(option_env!("OBSERVE_BUILD_RUSTC")),
        profile: known(option_env!("OBSERVE_BUILD_PROFILE")),
        target: known(option_env!("OBSERVE_BUILD_TARGET")),
        package_version: known(Some(env!("CARGO_PKG_VERSION"))),
        tokio: known(option_env!("OBSERVE_BUILD_TOKIO")),
        ..Build::default()
    }
}

#[cfg(test)]
mod tests {
    use super::current;

    #[test]
    fn the_compiler_is_known() {
        let build = current();
        assert!(build.rustc.is_some_and(|rustc| rustc.starts_with("rustc ")));
        assert!(build.target.is_some() && build.tokio.is_some());
    }
}
